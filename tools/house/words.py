# SPDX-License-Identifier: MIT
"""Checks that src/ and include/ use the words of tools/house/words.txt only where it allows them [B24, B25]."""

import argparse
import pathlib
import re

import tree


def read_table(path):
    forbidden, allowed = {}, set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        kind, word, rest = line.split(None, 2)
        if kind == "forbid":
            forbidden[word] = rest
        elif kind == "allow":
            file, *reason = rest.split(None, 1)
            if not reason:
                raise SystemExit(f"{path}:{number}: an allowance states its reason")
            allowed.add((word, file))
        else:
            raise SystemExit(f"{path}:{number}: a line starts with forbid or allow, not '{kind}'")
    return forbidden, allowed


def check(root, table):
    forbidden, allowed = read_table(table)
    pattern = re.compile(r"(?<![\w])(" + "|".join(map(re.escape, forbidden)) + r")(?![\w.])")
    faults, count, used = [], 0, set()
    for path in tree.code_files("include", "src", root=root):
        count += 1
        where = path.relative_to(root).as_posix()
        for number, line in enumerate(tree.without_comments(path.read_text()).splitlines(), 1):
            if line.lstrip().startswith("#"):
                continue
            for word in pattern.findall(line):
                if (word, where) in allowed:
                    used.add((word, where))
                else:
                    faults.append(f"{where}:{number}: '{word}' is not allowed here: {forbidden[word]}")
    for word, where in sorted(allowed - used):
        faults.append(f"{table.relative_to(root)}:1: '{where}' may use '{word}' but does not: remove the line")
    return faults, count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=tree.ROOT)
    root = parser.parse_args().root
    tree.finish("words", *check(root, root / "tools" / "house" / "words.txt"))

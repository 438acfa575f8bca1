# SPDX-License-Identifier: MIT
"""Writes a header with broken copies of real headers, as verify/mutants.txt lists them.

Each mutant lives in its own namespace, weft::detail::mutants::NAME (or weft::seam::mutants::NAME), together with the
src/ headers that the broken one includes (HEADER!: alone, on the real types), and has a struct Kit that names its exported classes. It is there for who defines
WEFT_MUTANT_NAME (cmake/WeftVerify.cmake does, for the scenarios that name it): all of them are seventy thousand lines. A patch whose original text is not found exactly once is
an error: the code moved, and the mutant has to follow."""

import argparse
import pathlib
import re
import sys

NAMESPACE = re.compile(r"namespace weft::inline v0::(detail|seam) \{")
SHARED = {"weft/detail/cache_line.hpp", "weft/detail/assert.hpp"}  # nothing in them to break
VISIBLE = re.compile(r"weft/detail/(?!seam)")  # public because templates need them, and protocols all the same


def read_table(path):
    mutants, current = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"{path.name}:{number}"
        if line.startswith("mutant "):
            _, name, header, *exports = line.split()
            if not exports:
                sys.exit(f"{where}: a mutant exports at least one class")
            header, _, user = header.partition("@")  # broken header, and the one that is wanted if it only includes it
            alone = header.endswith("!")
            header = header.removesuffix("!")
            current = {"name": name, "header": header, "root": user or header, "exports": exports, "patches": [],
                       "alone": alone, "where": where}
            mutants.append(current)
        elif line[0] in "-+" and current is not None:
            patches = current["patches"]
            if line[0] == "-" and (not patches or patches[-1][1]):
                patches.append(([], []))
            patches[-1][0 if line[0] == "-" else 1].append(line[2:].strip())
        else:
            sys.exit(f"{where}: a line starts with mutant, - or +")
    return mutants


def patched(text, mutant):
    for old, new in mutant["patches"]:
        pattern = re.compile(r"\s+".join(re.escape(part) for part in " ".join(old).split()))
        found = pattern.findall(text)
        if len(found) != 1:
            sys.exit(f"{mutant['where']}: {mutant['name']}: found {len(found)} times, not once: {' '.join(old)}")
        text = pattern.sub(lambda _: "\n".join(new), text)
    return text


def bundle(root, mutant):
    """The broken header and what it includes from src/, in order of need; the other includes; what was read."""
    source = root / "src"
    done, outer, parts = {}, [], []

    def add(header):
        if header in done:
            return
        path = source / header if (source / header).exists() else root / "include" / header
        done[header] = path
        text = path.read_text()
        if header == mutant["header"]:
            text = patched(text, mutant)
        body = []
        for line in text.splitlines():
            include = re.match(r'#include ([<"])(.*)[>"]', line)
            ours = include and include[1] == '"' and include[2] not in SHARED and not mutant["alone"]
            if ours and ((source / include[2]).exists() or VISIBLE.match(include[2])):
                add(include[2])
            elif include:
                outer.append(line)
            elif line.strip() != "#pragma once" and not line.startswith("//"):
                body.append(line)
        body = "\n".join(body)
        mutant["space"] = NAMESPACE.search(body)[1]  # in the end: of the header that was asked for
        parts.append(NAMESPACE.sub(rf"namespace weft::inline v0::\1::mutants::{mutant['name']} {{", body))

    add(mutant["root"])
    return outer, parts, done.values()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path, help="the folder that holds src and include")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--depfile", type=pathlib.Path)
    arguments = parser.parse_args()
    includes, texts, read = [], [], set()
    for mutant in read_table(arguments.table):
        outer, parts, used = bundle(arguments.root, mutant)
        read.update(used)
        near = outer if mutant["alone"] else []  # real ones of upper floors: only for who names the mutant
        includes += [line for line in outer if line not in includes and not near]
        kit = "".join(f"  using {name} = {mutant['name']}::{name};\n" for name in mutant["exports"])
        texts.append(f"#ifdef WEFT_MUTANT_{mutant['name']}\n" + "\n".join(near + parts) +
                     f"\nnamespace weft::inline v0::{mutant['space']}::mutants::{mutant['name']} {{\n"
                     f"struct Kit {{\n{kit}}};\n}}\n#endif\n")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("// SPDX-License-Identifier: MIT\n// Written by verify/mutate.py.\n#pragma once\n" +
                                "\n".join(includes) + "\n" + "\n".join(texts))
    if arguments.depfile:
        needs = " ".join(str(path) for path in sorted(read))
        arguments.depfile.write_text(f"{arguments.output}: {arguments.table} {needs}\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Checks that the first line of every source file is its SPDX line and that the file ends with a newline."""

import argparse
import pathlib

import tree

SCRIPT_SUFFIXES = (".py", ".sh", ".cmake")
LINE = "SPDX-License-Identifier: MIT"


def check(root):
    files = list(tree.code_files(root=root))
    files += tree.code_files("tools", "cmake", "tests", suffixes=SCRIPT_SUFFIXES, root=root)
    files += tree.code_files("tests", "cmake", "examples", suffixes=(".txt",), root=root)
    files += [path for path in (root / "dev", root / ".ci" / "run", root / "CMakeLists.txt") if path.exists()]
    files = [path for path in files if path.suffix != ".txt" or path.name == "CMakeLists.txt"]
    faults = []
    for path in files:
        text = path.read_text()
        lines = text.splitlines()
        first = lines[1] if len(lines) > 1 and lines[0].startswith("#!") else (lines or [""])[0]
        where = path.relative_to(root)
        if LINE not in first:
            faults.append(f"{where}:1: write '{LINE}' in a comment on the first line")
        if text and not text.endswith("\n"):
            faults.append(f"{where}:{len(lines)}: end the file with a newline")
    return faults, len(files)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=tree.ROOT)
    tree.finish("spdx", *check(parser.parse_args().root))

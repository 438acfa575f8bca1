# SPDX-License-Identifier: MIT
"""What the house checks share: walking the tree and reporting faults as file:line."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("include", "src", "tests", "verify", "bench", "examples")
CODE_SUFFIXES = (".hpp", ".cpp", ".S", ".h", ".c")


def code_files(*folders, suffixes=CODE_SUFFIXES, root=ROOT):
    """Every source file under the given folders (all code folders by default), in a stable order."""
    for folder in folders or CODE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path


def finish(check, faults, looked_at):
    """Prints the faults, one a line, and leaves with 1 if there is any."""
    for fault in faults:
        print(fault)
    if faults:
        print(f"{check}: {len(faults)} fault(s) in {looked_at} file(s)")
        sys.exit(1)
    print(f"{check}: {looked_at} files, no fault")


def without_comments(text):
    """The text with comments and string literals blanked, line numbers kept."""
    out = []
    i, n = 0, len(text)
    while i < n:
        two = text[i : i + 2]
        if two == "//":
            while i < n and text[i] != "\n":
                i += 1
        elif two == "/*":
            end = text.find("*/", i + 2)
            end = n if end < 0 else end + 2
            out.append("\n" * text.count("\n", i, end))
            i = end
        elif text[i] == '"' and text[i - 1 : i] == "R":
            close = text.find("(", i)
            mark = ")" + text[i + 1 : close] + '"'
            end = text.find(mark, close)
            end = n if end < 0 else end + len(mark)
            out.append('""' + "\n" * text.count("\n", i, end))
            i = end
        elif text[i] == '"' or (text[i] == "'" and not (i and text[i - 1].isalnum())):
            quote, i = text[i], i + 1
            while i < n and text[i] not in (quote, "\n"):
                i += 2 if text[i] == "\\" else 1
            i += 1
            out.append(quote * 2)
        else:
            out.append(text[i])
            i += 1
    return "".join(out)

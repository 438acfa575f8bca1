# SPDX-License-Identifier: MIT
"""Checks that every relative link in the Markdown files of the tree leads to a file. Blocks of code are not looked at."""

import argparse
import pathlib
import re

import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def documents(root):
    skip = {"build", ".git", ".cache"}
    return sorted(p for p in root.rglob("*.md") if not skip & set(p.relative_to(root).parts))


def check(root):
    faults = []
    files = documents(root)
    for path in files:
        in_block = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            in_block ^= line.startswith("```")
            if in_block:
                continue
            for target in LINK.findall(line):
                if target.startswith(("http:", "https:", "mailto:", "#")):
                    continue
                if not (path.parent / target.split("#")[0]).exists():
                    faults.append(f"{path.relative_to(root)}:{number}: the link '{target}' leads nowhere")
    return faults, len(files)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=tree.ROOT)
    parser.add_argument("--list", action="store_true", help="print each document with its title")
    arguments = parser.parse_args()
    if arguments.list:
        for path in documents(arguments.root):
            title = next((line.lstrip("# ") for line in path.read_text().splitlines() if line.startswith("#")), "")
            print(f"{path.relative_to(arguments.root)!s:32} {title}")
    tree.finish("links", *check(arguments.root))

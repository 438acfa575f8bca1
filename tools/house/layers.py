# SPDX-License-Identifier: MIT
"""Checks every #include of the tree against the floors in tools/layers.txt."""

import argparse
import fnmatch
import pathlib
import re
import sys

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Table:
    def __init__(self, path):
        self.floors, self.users, self.headers, self.doors = [], [], {}, set()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            if words[0] == "floor":
                self.floors.append(words[1])
            elif words[0] == "user":
                self.users.append(words[1])
            elif words[0] == "header":
                if words[2] not in self.floors:
                    sys.exit(f"{path}:{number}: no floor is called {words[2]}")
                self.headers[words[1]] = words[2]
            elif words[0] == "door":
                if len(words) < 4:
                    sys.exit(f"{path}:{number}: a door states its reason")
                self.doors.add((words[1], words[2]))
            else:
                sys.exit(f"{path}:{number}: a line starts with floor, user, header or door, not '{words[0]}'")

    def header_floor(self, name):
        for pattern, floor in self.headers.items():
            if fnmatch.fnmatchcase(name, pattern):
                return floor
        return None

    def rank(self, floor):
        return self.floors.index(floor)


def floor_of(table, root, path):
    """(floor, fault): the floor a file belongs to; ('', None) for a user folder."""
    parts = path.relative_to(root).parts
    if parts[0] in table.users:
        return "", None
    if parts[0] == "src":
        if len(parts) > 2 and parts[1] in table.floors:
            return parts[1], None
        return None, f"lies outside the floors: move it to src/<floor>/ ({' '.join(table.floors)})"
    name = "/".join(parts[1:])
    floor = table.header_floor(name)
    if floor is not None:
        return floor, None
    return None, f"public header without a floor: add 'header {name} <floor>' to tools/layers.txt"


def target_floor(table, root, name):
    """The floor an included name belongs to, '' for a user folder, None for the outside world."""
    floor = table.header_floor(name)
    if floor is not None and (root / "include" / name).is_file():
        return floor
    first = name.split("/")[0]
    if first in table.floors and (root / "src" / name).is_file():
        return first
    if first in table.users and (root / name).is_file():
        return ""
    return None


def check(root):
    table = Table(root / "tools" / "layers.txt")
    faults, count = [], 0
    for path in tree.code_files(root=root):
        count += 1
        where = path.relative_to(root)
        mine, fault = floor_of(table, root, path)
        if fault:
            faults.append(f"{where}:1: {fault}")
            continue
        public = where.parts[0] == "include"
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, name = match.groups()
            if ("/".join(where.parts[1:]), name) in table.doors:
                continue
            at = f"{where}:{number}:"
            theirs = target_floor(table, root, name)
            if theirs is None:
                if name.startswith("weft/") and (root / "include" / name).is_file():
                    continue  # reported at the header itself
                if mine == "" and (root / where.parts[0] / name).is_file():
                    continue  # a helper of its own folder: "fiber/help.hpp" in tests/fiber/
                if name.startswith(("weft/", "../", "./")) or name.split("/")[0] in table.floors:
                    faults.append(f"{at} '{name}' is no file of ours: write \"weft/x.hpp\" or \"<floor>/x.hpp\"")
                elif public and not is_standard(name):
                    faults.append(f"{at} public headers include the standard library and weft only, not '{name}': "
                                  "move the use into src/")
                continue
            if mine == "":
                continue
            if theirs == "":
                faults.append(f"{at} {mine} includes '{name}', which is not part of the library: move what you need "
                              f"down into src/{mine}")
            elif table.rank(theirs) > table.rank(mine):
                faults.append(f"{at} {mine} includes '{name}' of {theirs}, a floor above it: move the shared part to "
                              f"{mine} or below, or this file up to {theirs}")
            elif public and not name.startswith("weft/"):
                faults.append(f"{at} a public header includes the private '{name}': move it to include/weft/detail/")
            if quote == "<":
                faults.append(f"{at} write \"{name}\" with quotes: our own headers are not system headers")
    return faults, count


SYSTEM_PREFIXES = ("sys/", "linux/", "asm/", "sanitizer/", "bits/")
SYSTEM_HEADERS = {"unistd.h", "fcntl.h", "errno.h", "signal.h", "time.h", "poll.h", "sched.h", "pthread.h", "stdint.h",
                  "stddef.h", "cxxabi.h", "unwind.h", "ucontext.h", "immintrin.h", "x86intrin.h"}


def is_standard(name):
    """True for the C++ library (no suffix) and for headers that come with the kernel and libc."""
    return "." not in name and "/" not in name or name.startswith(SYSTEM_PREFIXES) or name in SYSTEM_HEADERS


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=tree.ROOT)
    root = parser.parse_args().root
    tree.finish("layers", *check(root))

# SPDX-License-Identifier: MIT
"""Checks the compiled library for thread-local storage and errno outside the files that words.txt allows [B24, B25].

The words check reads our source; this one sees what came in through inlined code of others.
"""

import argparse
import pathlib
import re
import subprocess

import tree
import words

OBJECT = re.compile(r"^(\S+\.o):\s+file format")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
# Relocations and calls that reach for the thread's own storage; %fs:0x28 is the stack protector's.
SIGNS = (
    (re.compile(r"R_X86_64_(TPOFF|GOTTPOFF|TLSGD|TLSLD|DTPOFF|GOTPC32_TLSDESC)|R_AARCH64_TLS|__tls_get_addr"), "thread_local"),
    (re.compile(r"__errno_location"), "errno"),
)
# Read by one instruction that names the thread pointer: src/sched/thread_worker.hpp [TW-2]. No C++ outside of its own
# file knows the variable, so no compiler can have made this.
OUR_OWN = re.compile(r"(R_X86_64_GOTTPOFF|R_AARCH64_TLSIE_\S+)\s+weft_thread_worker\b")


def find_uses(disassembly):
    """(object, function, word) for every function that touches thread-local storage or errno."""
    uses, object_name, function = set(), "", ""
    for line in disassembly.splitlines():
        if match := OBJECT.match(line):
            object_name = match.group(1)
        elif match := FUNCTION.match(line):
            function = match.group(1)
        else:
            for sign, word in SIGNS:
                if sign.search(line) and not OUR_OWN.search(line):
                    uses.add((object_name, function, word))
    return sorted(uses)


def check(root, library):
    forbidden, allowed = words.read_table(root / "tools" / "house" / "words.txt")
    answer = subprocess.run(["objdump", "-drC", "--no-show-raw-insn", str(library)], check=True, capture_output=True, text=True)
    open_files = {(word, pathlib.Path(path).name + ".o") for word, path in allowed}
    faults = []
    for object_name, function, word in find_uses(answer.stdout):
        if (word, object_name) not in open_files:
            faults.append(f"{object_name}: {function}: uses {word}: {forbidden[word]}")
    count = sum(1 for line in answer.stdout.splitlines() if OBJECT.match(line))
    if count == 0:
        faults.append(f"{library}: no object in it")
    return faults, count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=pathlib.Path)
    tree.finish("objects", *check(tree.ROOT, parser.parse_args().library))

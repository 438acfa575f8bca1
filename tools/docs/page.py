# SPDX-License-Identifier: MIT
"""Code blocks of a Markdown page as one program, and what they print compared with what the page shows.

  page.py extract PAGE OUT                   writes the program: each ```cpp block in a namespace of its own
  page.py run PAGE PROGRAM [EMULATOR...]     runs each block in a process; --accept writes what it printed into the page
  page.py book FOLDER                        every page is in the table of contents, and few blocks are not compiled

A ```cpp block with `int main(` is a program; its lines count from 1 in "main.cpp", as in a copy of it. Any other block
is what stands inside weft::run. Words after `cpp`:

  plain            a fragment that needs no runtime
  decl             declarations, for all blocks after it
  native           not run under an emulator
  unchecked        not run under a sanitizer either (it would print something of its own)
  frames           shows what only g++ without NDEBUG gives in these words, as frames of a stack: only run with --frames
  NAME=VALUE       in the environment of the block
  ignore REASON    not compiled

The first ```text block before the next ```cpp block is what it prints, stdout and stderr as on a terminal; without one
it prints nothing. Words after `text`:

  exit N           the exit code, 0 unless given
  shape            a number stands for any number, but for a line of main.cpp with --frames; ... for anything in a line, a
                   line ... for any lines
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys

LIMIT_SECONDS = 60
MOST_IGNORED = 2


class Block:
    def __init__(self, number, line, words):
        self.number = number
        self.line = line  # of its first line of code
        self.words = words
        self.code = []
        self.shown = None  # (first line index, lines, words)

    def has(self, word):
        return word in self.words

    @property
    def ignored(self):
        return self.has("ignore")

    @property
    def is_program(self):
        return any(re.search(r"\bint main\(", line) for line in self.code)

    @property
    def runs(self):
        return not self.ignored and not self.has("decl")


def blocks_of(path):
    blocks = []
    inside = None  # (kind, words, first index)
    lines = path.read_text().splitlines()
    for index, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if inside is None:
            words = line[3:].split()
            inside = (words[0] if words else "", words[1:], index + 1)
            continue
        kind, words, first = inside
        inside = None
        if kind == "cpp":
            blocks.append(Block(len(blocks) + 1, first + 1, words))
            blocks[-1].code = lines[first:index]
        elif kind == "text" and blocks and blocks[-1].shown is None:
            blocks[-1].shown = (first, lines[first:index], words)
    if inside is not None:
        sys.exit(f"{path}: the block that begins at line {inside[2]} has no end")
    return lines, blocks


def stem_of(path):
    return re.sub(r"\W", "_", path.stem.lower())


def extract(path, out):
    _, blocks = blocks_of(path)
    includes = {}
    parts = []
    calls = []
    for block in blocks:
        if block.ignored:
            continue
        body = []
        for line in block.code:
            if line.startswith("#include"):
                includes[line] = None
                body.append("")
            else:
                body.append(line)
        space = f"{stem_of(path)}_block_{block.number}"
        if block.has("decl"):
            parts += [f'#line {block.line} "{path.name}"', *body]
            continue
        calls.append(f"    case {block.number}: return {space}::program();")
        if block.is_program:
            text = "\n".join(body)
            body = re.sub(r"\bint main\(", "int program(", text).split("\n")
            parts += [f"namespace {space} {{", '#line 1 "main.cpp"', *body, "}"]
            continue
        before, after = ("", "  return 0;") if block.has("plain") else ("  return weft::run([] {", "  });")
        if not block.has("plain"):
            includes['#include "weft/runtime.hpp"'] = None
        parts += [f"namespace {space} {{", "int program() {", before, f'#line {block.line} "{path.name}"', *body, after, "}", "}"]
    system = sorted(line for line in includes if "<" in line)
    ours = sorted(line for line in includes if "<" not in line)
    text = [f"// Made from {path.name} by tools/docs/page.py.", "#include <cstdio>", "#include <cstdlib>", "#include <chrono>"]
    text += [*system, *ours, "using namespace std::chrono_literals;", *parts, '#line 1 "page"']
    text += ["int main(int count, char** words) {", "  (void)std::setvbuf(stdout, nullptr, _IOLBF, 4096);"]
    text += ["  switch (count > 1 ? std::atoi(words[1]) : 0) {", *calls, "    default: return 2;", "  }", "}", ""]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(text))


def plain_names(text, path):
    """As in a program of its own: without what the extraction has put around a block."""
    space = rf"{stem_of(path)}_block_\d+"
    text = re.sub(space + "::", "", text)
    text = re.sub(rf"[^\s(]*/(main\.cpp|{re.escape(path.name)}):", r"\1:", text)  # debug information adds a folder
    return text.replace("program()", "main()")


def shape_of(lines, frames):
    number = r"\d+(?:\.\d+)?"
    pieces = []
    for line in lines:
        if line.strip() == "...":
            pieces.append(r"(?:.*\n)*?")
            continue
        text = ""
        token = re.compile(r"\.\.\.|\w+\.(?:cpp|md):\d+|0x[0-9a-f]+|\d+(?:\.\d+)?(?:ns|us|ms|s)\b|\d+(?:\.\d+)?|.")
        for piece in token.findall(line):
            if piece == "...":
                text += ".*?"
            elif frames and re.fullmatch(r"\w+\.(?:cpp|md):\d+", piece):
                text += re.escape(piece)
            elif re.fullmatch(r"\w+\.(?:cpp|md):\d+", piece):  # which line a call stands at differs with compilers
                text += re.escape(piece.split(":")[0]) + r":\d+"
            elif piece.startswith("0x"):
                text += "0x[0-9a-f]+"
            elif re.fullmatch(r"\d.*(ns|us|ms|s)", piece):
                text += number + "(?:ns|us|ms|s)"
            elif piece[0].isdigit():
                text += number
            else:
                text += re.escape(piece)
        pieces.append(text + r"\n")
    return re.compile("".join(pieces))


def outcome(block, path, program, emulator):
    environment = {"WEFT_STALL_REPORT": "0"} | dict(os.environ)
    environment |= dict(word.split("=", 1) for word in block.words if re.match(r"\w+=", word))
    try:
        done = subprocess.run([*emulator, program, str(block.number)], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False)
        return done.returncode, plain_names(done.stdout.decode(errors="replace"), path)
    except subprocess.TimeoutExpired as late:
        return "none: it was still running", plain_names((late.stdout or b"").decode(errors="replace"), path)


def fault_of(block, code, got, frames):
    _, lines, words = block.shown or (0, [], [])
    wanted_code = int(words[words.index("exit") + 1]) if "exit" in words else 0
    if code < 0 if isinstance(code, int) else False:
        code = 128 - code
    if code != wanted_code:
        return f"its exit code is {code}, not {wanted_code}; it printed\n{got}"
    wanted = "".join(line + "\n" for line in lines)
    if shape_of(lines, frames).fullmatch(got) if "shape" in words else got == wanted:
        return None
    difference = difflib.unified_diff(wanted.splitlines(), got.splitlines(), "the page shows", "it printed", lineterm="")
    return "it does not print what the page shows\n" + "\n".join(difference)


def run(path, program, emulator, accept=False, sanitized=False, frames=True):
    if not os.path.exists(program):
        sys.exit(f"{path.name}: {program} is not built")
    lines, blocks = blocks_of(path)
    faults = 0
    ran = 0
    for block in reversed(blocks):  # so that accepting moves no line that is still needed
        left_out = emulator and (block.has("native") or block.has("unchecked"))
        left_out = left_out or sanitized and block.has("unchecked") or not frames and block.has("frames")
        if not block.runs or left_out:
            continue
        ran += 1
        code, got = outcome(block, path, program, emulator)
        fault = fault_of(block, code, got, frames)
        if fault is None:
            continue
        if accept and block.shown is not None and "exit code" not in fault:
            first, old, _ = block.shown
            lines[first:first + len(old)] = got.splitlines()
        print(f"{path.name}: block {block.number} (line {block.line}): {fault}\n", flush=True)
        faults += 1
    if accept:
        path.write_text("\n".join(lines) + "\n")
    print(f"{path.name}: {ran} blocks run, {faults} with a fault")
    return 1 if faults else 0


def book(folder):
    contents = (folder / "README.md").read_text()
    faults = []
    ignored = 0
    for page in sorted(folder.glob("*.md")):
        if page.name == "README.md":
            continue
        if f"({page.name})" not in contents:
            faults.append(f"{page.name} is not in the table of contents")
        for block in blocks_of(page)[1]:
            ignored += block.ignored
            if block.ignored and block.words[-1] == "ignore":
                faults.append(f"{page.name}: block {block.number} is ignored without a reason")
    if ignored > MOST_IGNORED:
        faults.append(f"{ignored} blocks are not compiled; {MOST_IGNORED} may be")
    print("\n".join(faults) or "the book is whole")
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = parser.add_subparsers(dest="word", required=True)
    one = words.add_parser("extract")
    one.add_argument("page", type=pathlib.Path)
    one.add_argument("out", type=pathlib.Path)
    two = words.add_parser("run")
    two.add_argument("--accept", action="store_true")
    two.add_argument("--sanitized", action="store_true")
    two.add_argument("--frames", action="store_true")
    two.add_argument("page", type=pathlib.Path)
    two.add_argument("program")
    two.add_argument("emulator", nargs=argparse.REMAINDER)
    three = words.add_parser("book")
    three.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.word == "extract":
        return extract(arguments.page, arguments.out)
    if arguments.word == "run":
        return run(arguments.page, arguments.program, arguments.emulator, arguments.accept, arguments.sanitized,
                   arguments.frames)
    return book(arguments.folder)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Memory orders: the table of linearization points, made from tags in the code, and a lint of what is relaxed.

A linearization point is tagged in the comment right above the operation:

    // [LP enter PARKING, W-109] the claim is open from here; the node's contents are published with it
    word_.store(..., std::memory_order_release);

The table (docs/memory-orders.md) lists each tag with its file, the function around it, the orders that the next lines
name, and the reason. `--write` makes it anew; without it the file must already say the same.

Lint: a relaxed operation carries a reason: a comment on its line or in the six lines above that says "relaxed", "own
value", "hint" or names an invariant like [DEQ-1], or a paragraph "Relaxed:" in the file's opening comment."""

import argparse
import re
import sys

import tree

TAG = re.compile(r"//\s*\[LP ([^\],]+)(?:, ([^\]]+))?\]\s*(.*)")
ORDER = re.compile(r"memory_order_(\w+)")
FUNCTION = re.compile(r"^\s*(?:\[\[.*\]\]\s*)?(?:[\w:<>&*,\s~]+?)\s([\w:~]+)\(")
REASON = re.compile(r"relaxed|own value|hint|\[[A-Z]+-\d+\]", re.I)
FOLDERS = ("include/weft/detail", "src/base", "src/sched", "src/task", "src/wait")
OWED = [f"W-{n}" for n in range(107, 117)]  # W-117 is the close of a channel


def function_above(lines, at):
    for i in range(at, -1, -1):
        if lines[i].startswith(("}", "namespace")):
            break
        found = FUNCTION.match(lines[i])
        opens = lines[i].rstrip().endswith("{") or lines[i].rstrip().endswith("}")
        if found and opens and not lines[i].strip().startswith(("return", "if", "for", "while", "//", "else", "const ")):
            return found[1]
    return "?"


def points(files, root):
    for path in files:
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            tag = TAG.search(line)
            if not tag:
                continue
            text, at = [tag[3]], i + 1
            while at < len(lines) and lines[at].strip().startswith("//"):
                text.append(lines[at].strip()[2:].strip())
                at += 1
            orders = []
            for code in lines[at : at + 5]:
                orders += [o for o in ORDER.findall(code) if o not in orders]
                if code.rstrip().endswith(";") and orders:
                    break
            yield {"name": tag[1].strip(), "ids": tag[2] or "", "why": " ".join(text).strip(),
                   "where": f"{path.relative_to(root)}, `{function_above(lines, i)}`", "orders": ", ".join(orders) or "the lock's"}


def table(found):
    out = ["# Memory orders and linearization points", "",
           "Made from the `[LP ...]` tags in the code by `tools/house/orders.py --write`; the tests check that it is true.",
           "Orders are those of the operation itself; who pairs with it is said in the reason.", "",
           "| point | rows | where | orders | why |", "|---|---|---|---|---|"]
    for p in sorted(found, key=lambda p: (p["ids"] or "~", p["name"])):
        out.append(f"| {p['name']} | {p['ids']} | {p['where']} | {p['orders']} | {p['why']} |")
    return "\n".join(out) + "\n"


def opening(lines):
    text = []
    for line in lines:
        if line.startswith("//"):
            text.append(line)
        elif line.strip() and not line.startswith("#pragma"):
            break
    return "\n".join(text)


def lint(path, lines):
    if re.search(r"^//\s*Relaxed:", opening(lines), re.M):
        return
    for i, line in enumerate(lines):
        if "memory_order_relaxed" not in line.split("//")[0]:
            continue
        comments = [l[l.index("//"):] for l in lines[max(0, i - 6) : i + 1] if "//" in l]
        if not any(REASON.search(c) for c in comments):
            yield f"{path}:{i + 1}: a relaxed operation without a reason (see tools/house/orders.py)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    files = [p for p in tree.code_files(*FOLDERS, suffixes=(".hpp", ".cpp"))]
    found = list(points(files, tree.ROOT))
    text = table(found)
    document = tree.ROOT / "docs" / "memory-orders.md"
    if arguments.write:
        document.write_text(text)
    faults = []
    if not document.exists() or document.read_text() != text:
        faults.append("docs/memory-orders.md does not say what the code says; run tools/house/orders.py --write")
    named = {i for p in found for i in re.findall(r"[VW]-\d{3}", p["ids"])}
    faults += [f"no [LP ...] tag names {i}" for i in OWED if i not in named]
    for path in files:
        faults += lint(path.relative_to(tree.ROOT), path.read_text().splitlines())
    tree.finish("orders", faults, len(files))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""Every phase has the record of a review (docs/reviews), and each finding names what closed it: files that exist."""

import re
import sys

import tree

ROW = re.compile(r"^\| (.+) \| (.+) \|$")
LINK = re.compile(r"\]\(([\w-]+\.md)\)")
FILE = re.compile(r"(?:tests|verify|src|include|tools|cmake)/[\w./-]+")


def findings(text):
    """(finding, what closed it) of each row of the table in a record."""
    rows = [ROW.match(line) for line in text.splitlines()]
    return [(row[1], row[2]) for row in rows if row and row[1] != "finding"]


def problems(folder, root):
    index = folder / "README.md"
    if not index.exists():
        return [f"{index.name} is missing"]
    records, out = LINK.findall(index.read_text()), []
    if len(records) < 5:
        out.append(f"README.md lists {len(records)} phases")
    for name in records:
        path = folder / name
        if not path.exists():
            out.append(f"{name} is missing")
            continue
        rows = findings(path.read_text())
        if not rows:
            out.append(f"{name}: a review that found nothing is no review")
        for finding, closed in rows:
            files = FILE.findall(closed)
            if not files:
                out.append(f"{name}: open: {finding}")
            out.extend(f"{name}: {file} is gone" for file in files if not (root / file).exists())
    return out


def main():
    found = problems(tree.ROOT / "docs" / "reviews", tree.ROOT)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

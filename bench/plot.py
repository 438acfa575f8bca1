#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws a bench's JSON as one SVG: bars per workload, median with min and max. Usage: plot.py IN.json OUT.svg"""
import json
import sys
from html import escape

WEFT = "#0b7285"
PEER = "#adb5bd"
ROW, LEFT, BAR, RIGHT = 18, 230, 420, 150


def groups_of(rows):
    groups = {}
    for row in rows:
        parts = row["workload"].split("/")
        if row["unit"] != "ns" or len(parts) != 2:
            continue
        groups.setdefault(parts[0], []).append((parts[1], row))
    return groups


def number(v):
    return f"{v:.0f}" if v >= 1000 else f"{v:.1f}"


def draw(data):
    out, y = [], 46
    machine = data["machine"]
    for name, field in groups_of(data["rows"]).items():
        top = max(row["median"] for _, row in field)
        out.append(f'<text class="h" x="10" y="{y + 12}">{escape(name)}</text>')
        y += ROW + 2
        for who, row in sorted(field, key=lambda f: f[1]["median"]):
            colour = WEFT if who.startswith("weft") else PEER
            width = max(1.0, BAR * row["median"] / top)
            low, high = (LEFT + BAR * min(v / top, 1.0) for v in (row["min"], row["max"]))
            out.append(f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(who)}</text>')
            out.append(f'<rect x="{LEFT}" y="{y + 2}" width="{width:.1f}" height="{ROW - 5}" fill="{colour}"/>')
            out.append(f'<path d="M{low:.1f} {y + 8}H{high:.1f}" stroke="#212529"/>')
            out.append(f'<text x="{LEFT + width + 6:.1f}" y="{y + 12}">{number(row["median"])} ns</text>')
            y += ROW
        y += 8
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + BAR + RIGHT}" height="{y + 10}" '
        'font-family="sans-serif" font-size="12">',
        '<style>.h{font-weight:bold}</style><rect width="100%" height="100%" fill="#fff"/>',
        '<text x="10" y="18" class="h">median (line: min to max), shorter is better</text>',
        f'<text x="10" y="34" fill="#495057">{escape(machine["cpu"])}, {escape(machine["compiler"])}, '
        f'{escape(machine["date"][:10])}</text>',
    ]
    return "\n".join(head + out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as why:
        print(f"plot.py: {sys.argv[1]}: {why}", file=sys.stderr)
        return 1
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(data))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""One way to spawn, to wait for an end, to cancel, to race: each verb is a free function of one public header.

A function at namespace scope whose name speaks of one of these and that stands in no line of the table below is a
second way, and refused; so is a line of the table that no header declares any more. What is in `detail` and what is a
member is the header's own business: a class has its verbs (Nursery::spawn, Future::cancel), and floors lie above it."""

import re
import sys

import tree

# verb -> the header that has it
WAYS = {
    "go": "runtime.hpp",
    "async": "future.hpp",
    "await": "future.hpp",
    "race": "race.hpp",
    "any": "race.hpp",
    "join_all": "race.hpp",
    "as_completed": "race.hpp",
    "timeout": "scope.hpp",
    "cancel_scope": "scope.hpp",
}
# The same verb for something that is no task of ours: (verb, header).
BRIDGES = {("await", "coroutine.hpp")}
ABOUT = re.compile(r"(^|_)(go|spawn|async|await|race|any|launch|fork|cancel|join|as_completed|timeout)($|_)")
# They speak of it and start, end or wait for nothing; or are cases of select.
OTHERS = {("cancel_requested", "scope.hpp"), ("cancel_reason", "scope.hpp"), ("cancel_everywhere", "sim.hpp"),
          ("join", "op.hpp"), ("timeout", "op.hpp"), ("await", "future_op.hpp"), ("let_go", "sim.hpp"), ("undelivered_values", "channel.hpp")}
FUNCTION = re.compile(r"^(?:inline |constexpr |\[\[nodiscard\]\] )*[A-Za-z_][\w:<>,&* ]*[ &*]([a-z]\w*)\(")
NAMESPACE = re.compile(r"^namespace ([\w: ]*)\{")


def declared(text):
    """The free functions that a header declares for its users, by name."""
    found, inside = [], []
    for line in text.splitlines():
        opened = NAMESPACE.match(line)
        if opened:
            inside.append("detail" in opened[1])
        elif line.startswith("}  // namespace"):
            inside.pop()
        elif not any(inside):
            match = FUNCTION.match(line)
            if match and "operator" not in line:
                found.append(match[1])
    return found


def problems(headers):
    """headers: {name: text}."""
    where = {}
    for header, text in sorted(headers.items()):
        for name in declared(text):
            where.setdefault(name, set()).add(header)
    out = []
    for verb, header in WAYS.items():
        if header not in where.get(verb, ()):
            out.append(f"{verb}: include/weft/{header} does not declare it any more")
    for name, places in sorted(where.items()):
        if not ABOUT.search(name):
            continue
        for header in sorted(places):
            if WAYS.get(name) != header and (name, header) not in BRIDGES | OTHERS:
                out.append(f"include/weft/{header}: {name} would be a second way to do what {WAYS} do already")
    return out


def main():
    folder = tree.ROOT / "include" / "weft"
    found = problems({path.name: path.read_text() for path in folder.glob("*.hpp")})
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

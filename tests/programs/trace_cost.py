# SPDX-License-Identifier: MIT
"""trace_cost.py PROGRAM SOURCE: what a trace that nobody asked for costs, by counting instructions under callgrind.

The program (untraced.cpp) makes 40000 switches and starts at least. No function of the tracer may run at all, and the lines that ask
whether somebody wants a trace may cost a comparison with memory and a branch each time: with at most two of them on the way of one
switch, 4 instructions a switch. Counted: 1.76, of 341."""

import collections
import os
import re
import subprocess
import sys
import tempfile

SWITCHES = 40000
ASKS = re.compile(r"(\.|->)watched\b|\btrace != nullptr|\btracer == nullptr|->trace\b|TraceRing\* trace = ")
TRACERS = re.compile(r"\bnote_begin|\bnote_left|\bnote\(|_watched\(|Tracer::|TraceRing::")


def profile(program, folder):
    out = os.path.join(folder, "out")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
    subprocess.run(["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
                    "--callgrind-out-file=" + out, program],
                   check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    costs, functions, file, skip = collections.Counter(), set(), "", False
    for line in open(out, encoding="utf-8", errors="replace"):
        line = line.rstrip("\n")
        if line.startswith(("fl=", "fi=", "fe=")):
            file = line[3:]
        elif line.startswith("fn="):
            functions.add(line[3:])
        elif line.startswith("calls="):
            skip = True  # the next line is what is called, too
        elif line[:1].isdigit():
            if skip:
                skip = False
                continue
            number, cost = line.split()[:2]
            costs[file, int(number)] += int(cost)
    return costs, functions


def main():
    program, source = sys.argv[1], os.path.join(os.path.realpath(sys.argv[2]), "src", "sched")
    with tempfile.TemporaryDirectory() as folder:
        costs, functions = profile(program, folder)
    total = sum(costs.values())
    asked = 0
    for (file, number), cost in sorted(costs.items()):
        place = re.search(r"/src/sched/(\w+\.[ch]pp)$", file)  # a shared cache of objects may name another checkout
        if not place:
            continue
        text = open(os.path.join(source, place[1]), encoding="utf-8").read().split("\n")[number - 1]
        if ASKS.search(text):
            asked += cost
            print(f"{cost:9} {os.path.basename(file)}:{number}: {text.strip()}")
    ran = sorted(name for name in functions if TRACERS.search(name))
    print(f"{asked / SWITCHES:.2f} instructions a switch, of {total / SWITCHES:.0f}; functions of the tracer: {ran or 'none'}")
    if asked == 0:
        sys.exit("no line that asks has been counted: is the program built with -g?")
    if ran or asked > 4 * SWITCHES:
        sys.exit("too much")


main()

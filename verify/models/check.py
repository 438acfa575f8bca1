# SPDX-License-Identifier: MIT
"""Runs the Spin models of this folder: what must hold is searched completely, what must fail has to fail.

usage: check.py [--deep] [--jobs N] [TEXT]     only runs whose line contains TEXT; --deep adds those of ten seconds and more
Exit 0: all as expected. 1: a surprise. 2: Spin or a C compiler is missing."""

import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent

# model, flags. The flags that stand under "Must fail" in a model are mistakes; a line with one of them must fail.
RUNS = """
park
park WAITS=3
park NO_SENDER
park QUEUES_UNLEFT
park COMMITS_BLINDLY
park ANY_TICKET
park CLAIMS_TWICE
park NO_LOOK_AT_FLAG NO_SENDER
park VALUE_LATE

nursery
nursery LOOKS_AFTER_RMW
nursery TICKET_LATE
nursery OLD_TICKET
nursery TICKET_BESIDE
nursery TRUSTS_REASON
nursery COUNTS_AFTER_PUSH
nursery FORGETS_DESTROYED
nursery BOTH_TAKE
nursery NO_PARENT_LOCK
nursery TWO_STEP_CANCEL

idle KIND0=slot
idle KIND0=spawn
idle KIND0=slot IDLE
idle TASKS=2 KIND0=pair KIND1=pair IDLE
idle TASKS=2 KIND0=pair KIND1=pair
idle WORKERS=3 KIND0=slot
idle WORKERS=3 TASKS=2 KIND0=slot KIND1=slot IDLE
idle WORKERS=3 TASKS=2 KIND0=spawn KIND1=slot IDLE
idle NO_SUCCESSOR IDLE
idle NO_SUCCESSOR BROKEN IDLE TASKS=2 KIND0=pair KIND1=pair
idle NO_WATCH BROKEN
idle ROLE_STAYS BROKEN
idle WATCH_FOR_EVER
idle RECHECKS_FIRST KIND0=spawn
idle ANNOUNCES_TWICE KIND0=plain
idle OUTSIDE_UNFENCED KIND0=plain

deque
deque REAL
deque START=1 ITEMS=3
deque START=4 ITEMS=6 OPS=5 BATCH=3 THIEVES=1
deque OWNER_UNFENCED
deque NO_HEAVY_FENCE
deque COUNTS_LATE
deque LOOKS_LATE
deque LAST_FREE
deque OLD_BOTTOM
deque NO_LIGHT_FENCE REAL

close
close NO_MEMORY
close REFUSES
close STOP_RECEIVER
close OPEN
close FLAG_UNLOCKED
close FIRST_ONLY OPEN
close MOVES_UNCLAIMED
close CLOSED_FIRST
close DRAIN_FIRST
close FAILS_DRAINED CAPACITY=0
close FORGETS_PARKED NO_MEMORY CAPACITY=0
close CLOSES_TWICE

select
select STOPPED_ONE=1
select MEETING=3
select MEETING=3 NO_FIRST_LOOK
select MEETING=5
select MEETING=6
select ONLY_LINKS
select LINKS_APART
select CASE_ORDER MEETING=6
select LEAVES_LOSERS
select CLAIMS_TWICE
select NO_LOOK_AT_FLAG
"""
DEEP = """
idle WORKERS=3 KIND0=spawn
idle WORKERS=3 TASKS=2 KIND0=spawn KIND1=spawn IDLE
idle WORKERS=3 TASKS=2 KIND0=pair KIND1=pair
idle WORKERS=3 TASKS=2 KIND0=spawn KIND1=slot
select MEETING=2
select MEETING=4
close CAPACITY=0
close NO_MEMORY CAPACITY=0
close REFUSES CAPACITY=0
close STOP_RECEIVER CAPACITY=0
deque START=1 ITEMS=4 OPS=5 BATCH=1 THIEVES=3
"""


def mistakes_of(model):
    listed = re.search(r"Must fail:(.*?)\*/", (HERE / f"{model}.pml").read_text(), re.S)[1]
    return set(re.findall(r"^\s+([A-Z_]+)  ", listed, re.M))


def run(line):
    """Returns (as expected, what to print)."""
    model, *flags = line.split()
    must_fail = bool(mistakes_of(model) & {flag.split("=")[0] for flag in flags})
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        def call(*command):
            return subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        steps = [["spin", *(f"-D{flag}" for flag in flags), "-a", str(HERE / f"{model}.pml")],
                 ["cc", "-O0", "-w", "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=1024", "-DMEMLIM=2000", "-o", "pan", "pan.c"],
                 ["./pan", "-m500000"]]
        for step in steps:
            done = call(*step)
            if done.returncode != 0 or "Error" in done.stdout:
                return False, f"{line}: {step[0]} says\n{done.stdout}"
    text = done.stdout
    states = re.search(r"(\d+) states, stored", text)
    complete = "Search not completed" not in text and "max search depth" not in text
    if "errors: 0" in text:
        verdict = "holds" if complete else "INCOMPLETE"
    else:
        verdict = "fails" if "assertion violated" in text else "?"
    as_expected = verdict == ("fails" if must_fail else "holds")
    why = re.search(r"^pan:1: (.*)", text, re.M)
    shown = f"{line:56} {verdict:10} {states[1] if states else '?':>9} states {time.monotonic() - start:6.1f} s"
    if not as_expected:
        shown += f"   SURPRISE, it should {'fail' if must_fail else 'hold'}" + (f": {why[1]}" if why else "")
    return as_expected, shown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", default="")
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    for program in ("spin", "cc"):
        if shutil.which(program) is None:
            print(f"check.py: there is no {program} here; ./dev setup test installs it", file=sys.stderr)
            return 2
    lines = [line for line in (RUNS + (DEEP if arguments.deep else "")).splitlines() if line]
    forgotten = [f"{model} {flag}" for model in ("park", "nursery", "idle", "deque", "close", "select") for flag in sorted(mistakes_of(model))
                 if not any(line.split()[0] == model and flag in line.split()[1:] for line in lines)]
    for one in forgotten:
        print(f"{one}: named in the model, and no run has it")
    chosen = [line for line in lines if arguments.text in line]
    if not chosen:
        print("check.py: no such run", file=sys.stderr)
        return 2
    bad = len(forgotten)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for as_expected, shown in pool.map(run, chosen):
            print(shown, flush=True)
            bad += not as_expected
    print(f"{len(chosen)} runs, {bad} not as expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

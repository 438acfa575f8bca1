# SPDX-License-Identifier: MIT
"""trace_check.py PROGRAM: runs it with WEFT_TRACE and looks whether what it wrote is a trace [N-071]."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def demand(holds, text):
    if not holds:
        sys.exit(f"trace: {text}")


def run(program, **variables):
    return subprocess.run([program], env=dict(os.environ, **variables), capture_output=True, text=True, timeout=60)


def load(program, path, **variables):
    done = run(program, WEFT_TRACE=str(path), **variables)
    demand(done.returncode == 0, f"the program ended with {done.returncode}: {done.stderr}")
    return json.loads(path.read_text()), done.stderr


def check_slices(events, closed):
    """Each row: slices open and close in order of time, one inside the other."""
    depth, last, slices = collections.Counter(), collections.Counter(), collections.Counter()
    for event in events:
        if event["ph"] not in "BE":
            continue
        row = event["tid"]
        demand(event["ts"] >= last[row], f"row {row} goes back in time")
        last[row] = event["ts"]
        depth[row] += 1 if event["ph"] == "B" else -1
        demand(depth[row] >= 0, f"row {row} closes what was not open")
        demand(depth[row] <= 1, f"row {row}: a task runs inside another one, or while its worker sleeps")
        if event["ph"] == "B":
            slices[event["cat"]] += 1
    demand(not closed or not any(depth.values()), "slices are left open")
    return slices


def check_spans(events):
    """Each task: born before it ends, waits inside its life, as many begun as ended, properly nested."""
    stacks = collections.defaultdict(list)
    names = collections.Counter()
    for event in events:
        if event["ph"] == "b":
            stacks[event["id"]].append(event["name"])
            names[event["name"].split(" ")[0] if event["name"].startswith("task") else event["name"]] += 1
        elif event["ph"] == "e":
            stack = stacks[event["id"]]
            demand(stack, f"span {event['name']} of {event['id']} ends without a beginning")
            begun = stack.pop()
            demand(begun.split(" ")[:2] == event["name"].split(" ")[:2], f"{begun} ends as {event['name']}")
    demand(not any(stacks.values()), "spans are left open")
    return names


def check_flows(events):
    """Each arrow begins in a slice and ends at the slice of who was spawned or woken."""
    begun, ended = {}, collections.Counter()
    for event in events:
        if event["ph"] == "s":
            demand(event["id"] not in begun, "two arrows with one number")
            begun[event["id"]] = event
        elif event["ph"] == "f":
            demand(event["id"] in begun, "an arrow from nowhere")
            demand(begun[event["id"]]["ts"] <= event["ts"], "an arrow that goes back in time")
            ended[begun[event["id"]]["name"]] += 1
    demand(sum(ended.values()) == len(begun), "an arrow that leads nowhere")
    return ended


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        trace, said = load(program, path)
        events = trace["traceEvents"]
        demand(trace["otherData"]["dropped"] == 0 and said == "", f"nothing should be missing: {said}")
        rows = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        demand(rows[0] == "worker 0" and rows[1] == "worker 1" and "outside" in rows.values(), f"rows: {rows}")
        slices = check_slices(events, True)
        demand(slices["task"] > 50 and slices["idle"] > 0, f"slices: {slices}")
        spans = check_spans(events)
        demand(spans["task"] == 7, f"seven tasks, not {spans['task']}")
        demand(spans["wait send"] + spans["wait recv"] >= 50, f"each message is waited for: {dict(spans)}")
        for wait in ("wait sleep", "wait lock", "wait nursery"):
            demand(spans[wait] > 0, f"nobody waits as in '{wait}': {dict(spans)}")
        flows = check_flows(events)
        demand(flows["spawn"] == 6 and flows["wake"] > 20, f"arrows: {flows}")
        demand(any("traced.cpp:" in e.get("name", "") for e in events if e["ph"] == "B"), "slices lack their spawn site")
        counts = [e["args"]["tasks"] for e in events if e["ph"] == "C"]
        demand(counts and all(c >= 0 for c in counts), "no counter")

        # The last events only: the file still holds together, and says what is missing.
        trace, said = load(program, path, WEFT_TRACE_EVENTS="64")
        check_slices(trace["traceEvents"], True)
        demand(trace["otherData"]["dropped"] > 0 and "lacks its first" in said, f"what is missing is not told: {said}")

        # Nobody asked: nothing is written.
        path.unlink()
        demand(run(program).returncode == 0 and not path.exists(), "a trace that nobody asked for")
        bad = run(program, WEFT_TRACE=str(path), WEFT_TRACE_EVENTS="many")
        demand(bad.returncode != 0 and "WEFT_TRACE_EVENTS" in bad.stderr, "a number that is none is taken")
        bad = run(program, WEFT_TRACE=str(pathlib.Path(folder) / "no" / "where"))
        demand(bad.returncode == 0 and "could not be written" in bad.stderr, "a file that cannot be written is silent")
    print("trace: a row of slices for each worker, spans that nest, arrows that join")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Which rows of requirements.tsv are shown by tests that ran and passed.

A test case names the ids it shows in its own name: "channel: close wakes all receivers [W-063]". Doctest cases,
explorer scenarios (which pass when the ctest of their group does) and ctests count. An id is done iff at least one case
naming it ran and every case naming it ran and passed.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
FAMILIES = "JEVWXN"
ID = re.compile(rf"\b[{FAMILIES}]-\d{{3}}\b")


def owed_ids(table):
    """The ids of the rows that the runtime owes, in table order."""
    rows = (line.split("\t") for line in table.read_text().splitlines()[1:])
    return [row[0] for row in rows if len(row) > 1 and row[1] in ("rt", "both")]


def listed_tests(build):
    """(ctests, programs made of doctest cases, {ctest: command} of explorer scenarios) of a build tree."""
    answer = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True, capture_output=True)
    names, programs, scenarios = [], set(), {}
    for test in json.loads(answer.stdout)["tests"]:
        labels = next((p["value"] for p in test["properties"] if p["name"] == "LABELS"), [])
        if "house" in labels or "full" in labels:
            continue
        names.append(test["name"])
        if "doctest" in labels and "command" in test:
            programs.add(test["command"][0])
        elif "verify" in labels and "--group" in test.get("command", []):  # not the explorer's tests of itself
            scenarios[test["name"]] = test["command"]
    return names, sorted(programs), scenarios


def listed_cases(program):
    """The names of all doctest cases in a program, whether or not they get to run."""
    answer = subprocess.run([program, "--list-test-cases", "--reporters=xml"], check=True, capture_output=True)
    return [case.get("name") for case in ElementTree.fromstring(answer.stdout).iter("TestCase")]


def listed_scenarios(command):
    """The names of the explorer scenarios that a ctest runs; the list has their group in the first column."""
    answer = subprocess.run([*command, "--list"], check=True, capture_output=True, text=True)
    return [line.split(None, 1)[1] for line in answer.stdout.splitlines() if line.strip()]


def judge_cases(log, listed):
    """{case: passed} from the lines that tests/main.cpp wrote; a case that never ended, or never ran, did not pass."""
    tally = collections.defaultdict(collections.Counter)
    for line in log.splitlines():
        word, _, name = line.partition("\t")
        tally[name][word] += 1
    results = {}
    for name, times in collections.Counter(listed).items():
        count = tally[name]
        results[name] = count["pass"] >= times and count["pass"] == count["start"] and count["fail"] == 0
    return results


def run(build, jobs):
    """Runs the suite; gives {case or ctest name: True if it ran and never failed, else False}."""
    names, programs, scenarios = listed_tests(build)
    log, junit = build / "conformance.log", build / "conformance.xml"
    log.unlink(missing_ok=True)
    junit.unlink(missing_ok=True)
    subprocess.run(["ctest", "--test-dir", str(build), "-j", str(jobs), "--label-exclude", "^(house|full)$",
                    "--output-junit", str(junit)], env=dict(os.environ, WEFT_CASE_LOG=str(log)), stdout=sys.stderr, check=False)

    results = {}
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        results[case.get("name")] = case.get("status") == "run"
    for name in names:
        results.setdefault(name, False)

    for test, command in scenarios.items():
        for scenario in listed_scenarios(command):
            results[scenario] = results[test]

    listed = [name for program in programs for name in listed_cases(program)]
    results.update(judge_cases(log.read_text(errors="replace") if log.exists() else "", listed))
    return results


def summarise(owed, results):
    """({family: {done, owed, open}}, {id named by some test: all of those passed})."""
    outcome = {}
    for name, passed in results.items():
        for an_id in ID.findall(name):
            outcome[an_id] = outcome.get(an_id, True) and passed
    families = {}
    for family in FAMILIES:
        mine = [an_id for an_id in owed if an_id[0] == family]
        still = [an_id for an_id in mine if not outcome.get(an_id, False)]
        families[family] = {"done": len(mine) - len(still), "owed": len(mine), "open": still}
    return families, outcome


def wrapped(ids, width=110):
    line = "   "
    for an_id in ids:
        if len(line) + len(an_id) > width:
            yield line
            line = "   "
        line += " " + an_id
    if line.strip():
        yield line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--table", type=pathlib.Path, default=ROOT / "requirements.tsv")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    families, outcome = summarise(owed_ids(arguments.table), run(arguments.build.resolve(), arguments.jobs))
    failing = sorted(an_id for an_id, passed in outcome.items() if not passed)
    if failing:
        print(f"named by a test that failed or did not run: {' '.join(failing)}", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"families": families}))
        return
    for family, row in families.items():
        print(f"{family}: {row['done']} of {row['owed']} done" + (", open:" if row["open"] else ""))
        for line in wrapped(row["open"]):
            print(line)
    done = sum(row["done"] for row in families.values())
    print(f"all: {done} of {sum(row['owed'] for row in families.values())} done")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""The stages of ./dev test --full, with stages that take no time in the place of the real ones."""

import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = """
set -euo pipefail
ROOT=$1 word=test
source "$ROOT/tools/dev/common.sh"
source "$ROOT/tools/dev/full.sh"
stage_good() { echo good ran; }
stage_dies() { die "as planned"; }
stage_falls() { false; echo went on; }
shift
run_stages "$@"
"""


def dev_test(*words):
    return subprocess.run([ROOT / "dev", "test", *words], capture_output=True, text=True, check=False)


def fake(*stages):
    return subprocess.run(["bash", "-c", FAKE, "bash", ROOT, *stages], capture_output=True, text=True, check=False)


def table_of(run):
    return [line.split()[:2] for line in run.stdout.splitlines() if line.endswith(" min")]


class StagesTest(unittest.TestCase):
    def test_a_red_stage_stops_none_and_is_told_at_the_end(self):
        run = fake("dies", "falls", "good")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(table_of(run), [["dies", "RED"], ["falls", "RED"], ["good", "green"]])
        self.assertIn("good ran", run.stdout)
        self.assertNotIn("went on", run.stdout)
        self.assertIn("red: dies falls", run.stderr)

    def test_green_stages_pass(self):
        run = fake("good", "good")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(table_of(run), [["good", "green"], ["good", "green"]])

    def test_an_unknown_stage_is_refused_before_anything_runs(self):
        run = dev_test("--full", "asan", "ubsan")
        self.assertEqual(run.returncode, 2)
        self.assertIn("no stage 'ubsan' (there are: plain ", run.stderr)
        self.assertNotIn("== ", run.stderr)

    def test_the_help_tells_every_stage(self):
        script = (ROOT / "tools/dev/full.sh").read_text()
        stages = script.split("STAGES=(")[1].split(")")[0].split()
        told = dev_test("--help").stdout.split("Stages of --full")[1].splitlines()[1:]
        self.assertEqual([line.split()[0] for line in told if line.strip()], stages)
        for stage in stages:
            self.assertIn(f"stage_{stage}() {{", script)


if __name__ == "__main__":
    unittest.main()

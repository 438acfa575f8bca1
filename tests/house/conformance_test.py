# SPDX-License-Identifier: MIT
"""What ./dev conformance counts as done, and what not."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import conformance  # noqa: E402


class Cases(unittest.TestCase):
    def test_a_case_that_ran_and_passed(self):
        self.assertEqual(conformance.judge_cases("start\ta\npass\ta\n", ["a"]), {"a": True})

    def test_a_case_that_failed(self):
        self.assertEqual(conformance.judge_cases("start\ta\nfail\ta\n", ["a"]), {"a": False})

    def test_a_case_that_took_the_process_down(self):
        self.assertEqual(conformance.judge_cases("start\ta\n", ["a"]), {"a": False})

    def test_a_case_that_is_listed_but_never_ran(self):
        self.assertEqual(conformance.judge_cases("", ["a"]), {"a": False})

    def test_two_cases_of_one_name_must_both_pass(self):
        self.assertEqual(conformance.judge_cases("start\ta\npass\ta\n", ["a", "a"]), {"a": False})
        self.assertEqual(conformance.judge_cases("start\ta\npass\ta\nstart\ta\nfail\ta\n", ["a", "a"]), {"a": False})
        self.assertEqual(conformance.judge_cases("start\ta\npass\ta\nstart\ta\npass\ta\n", ["a", "a"]), {"a": True})


class Ids(unittest.TestCase):
    OWED = ["J-001", "J-002", "W-001"]

    def test_an_id_is_done_when_every_case_naming_it_passed(self):
        families, _ = conformance.summarise(self.OWED, {"a [J-001]": True, "b [J-001, J-002]": True})
        self.assertEqual(families["J"], {"done": 2, "owed": 2, "open": []})
        self.assertEqual(families["W"], {"done": 0, "owed": 1, "open": ["W-001"]})
        self.assertEqual(list(families), list("JEVWXN"))

    def test_one_failing_case_keeps_the_id_open(self):
        families, _ = conformance.summarise(self.OWED, {"a [J-001]": True, "b [J-001]": False})
        self.assertEqual(families["J"]["open"], ["J-001", "J-002"])

    def test_a_longer_number_is_another_id(self):
        families, _ = conformance.summarise(self.OWED, {"a [J-0011]": True})
        self.assertEqual(families["J"]["done"], 0)

    def test_only_rows_of_the_runtime_are_owed(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "table.tsv"
            table.write_text("id\twhere\tpromise\thow\nJ-001\trt\tx\ty\nJ-002\tlang\tx\ty\nJ-003\tboth\tx\ty\n")
            self.assertEqual(conformance.owed_ids(table), ["J-001", "J-003"])

    def test_every_id_named_in_the_tests_stands_in_the_table(self):
        known = {line.split("\t")[0] for line in (ROOT / "requirements.tsv").read_text().splitlines()[1:]}
        for path in sorted([*(ROOT / "tests").rglob("*_test.cpp"), *(ROOT / "verify").rglob("*.cpp")]):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for an_id in conformance.ID.findall(line):
                    self.assertIn(an_id, known, f"{path.relative_to(ROOT)}:{number}: no such requirement")


if __name__ == "__main__":
    unittest.main()

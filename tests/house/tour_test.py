# SPDX-License-Identifier: MIT
"""The words of ./dev run that build nothing."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def dev_run(*words):
    return subprocess.run([ROOT / "dev", "run", *words], capture_output=True, text=True, check=False)


class TourTest(unittest.TestCase):
    def test_the_list_names_every_example_with_a_sentence(self):
        listed = dev_run("--list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        names = []
        for line in listed.stdout.splitlines():
            number, name, sentence = re.fullmatch(r" *(\d+)  (\S+) +(\S.*)", line).groups()
            names.append(f"{int(number):02}_{name}")
            self.assertLess(len(sentence), 150, line)
        self.assertEqual(names, sorted(path.stem for path in (ROOT / "examples").glob("*.cpp")))

    def test_an_unknown_name_is_refused_with_those_that_there_are(self):
        refused = dev_run("chanels")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no example 'chanels'", refused.stderr)
        self.assertIn("  9  channels", refused.stderr)

    def test_a_word_that_could_be_several_is_refused_with_those(self):
        refused = dev_run("s")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("select", refused.stderr)
        self.assertNotIn("channels", refused.stderr)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: MIT
"""verify/mutate.py: what it writes, and that it refuses a patch which no longer fits."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "verify" / "mutate.py"
HEADER = """#pragma once
#include <vector>
#include "base/below.hpp"
namespace weft::inline v0::detail {
inline int twice(int x) { return 2 * x; }
}
"""
BELOW = """#pragma once
namespace weft::inline v0::detail {
struct Below {};
}
"""


class MutateTest(unittest.TestCase):
    def run_tool(self, table):
        root = pathlib.Path(tempfile.mkdtemp())
        (root / "src" / "base").mkdir(parents=True)
        (root / "src" / "base" / "thing.hpp").write_text(HEADER)
        (root / "src" / "base" / "below.hpp").write_text(BELOW)
        (root / "table.txt").write_text(table)
        output = root / "out" / "mutants.hpp"
        done = subprocess.run([sys.executable, TOOL, root / "table.txt", root, output, "--depfile", root / "d"],
                              capture_output=True, text=True)
        return done, output.read_text() if output.exists() else "", root

    def test_a_patch_is_applied_in_a_namespace_of_its_own_with_the_headers_below(self):
        done, text, root = self.run_tool("mutant thrice base/thing.hpp Below\n- return 2   * x;\n+ return 3 * x;\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("return 3 * x;", text)
        self.assertNotIn("return 2 * x;", text)
        self.assertEqual(text.count("namespace weft::inline v0::detail::mutants::thrice {"), 3)
        self.assertIn("using Below = thrice::Below;", text)
        self.assertIn("#include <vector>", text)
        self.assertIn("below.hpp", (root / "d").read_text())

    def test_a_header_alone_works_on_the_real_ones_below(self):
        done, text, root = self.run_tool("mutant thrice base/thing.hpp! Below\n- return 2   * x;\n+ return 3 * x;\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("return 3 * x;", text)
        self.assertNotIn("struct Below {};", text)
        self.assertIn('#include "base/below.hpp"', text)
        self.assertEqual(text.count("namespace weft::inline v0::detail::mutants::thrice {"), 2)

    def test_a_patch_that_does_not_fit_is_named(self):
        done, text, _ = self.run_tool("mutant gone base/thing.hpp Below\n- return 4 * x;\n+ return 3 * x;\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("table.txt:1: gone: found 0 times", done.stderr)
        self.assertEqual(text, "")

    def test_a_patch_that_fits_twice_is_named(self):
        done, _, _ = self.run_tool("mutant vague base/thing.hpp Below\n- x\n+ y\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("vague: found", done.stderr)


if __name__ == "__main__":
    unittest.main()

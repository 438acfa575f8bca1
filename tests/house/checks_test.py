# SPDX-License-Identifier: MIT
"""The house checks are checked themselves: each planted fault must be found, at its line."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "house"))

import layers  # noqa: E402
import objects  # noqa: E402
import one_way  # noqa: E402
import reviews  # noqa: E402
import spdx  # noqa: E402
import tree  # noqa: E402
import words  # noqa: E402

LAYERS = """
floor base   lowest
floor signal above
user tests
header weft/low.hpp base
header weft/high.hpp signal
door weft/low.hpp explorer/seam.hpp verification only
"""


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("tools/layers.txt", LAYERS)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def layer_faults(self):
        return layers.check(self.root)[0]

    def assert_one(self, faults, start, part):
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(start), faults[0])
        self.assertIn(part, faults[0])


class Layers(Planted):
    def test_a_floor_may_include_itself_and_what_is_below(self):
        self.write("include/weft/low.hpp", "#include <vector>\n#include <sys/mman.h>\n")
        self.write("include/weft/high.hpp", '#include "weft/low.hpp"\n')
        self.write("src/signal/a.cpp", '#include "weft/low.hpp"\n#include "signal/b.hpp"\n')
        self.write("src/signal/b.hpp", "")
        self.write("tests/signal/a_test.cpp", '#include "signal/b.hpp"\n')
        self.assertEqual(self.layer_faults(), [])

    def test_an_include_upwards_is_named_with_its_line(self):
        self.write("include/weft/high.hpp", "")
        self.write("src/base/a.cpp", '#include <vector>\n#include "weft/high.hpp"\n')
        self.assert_one(self.layer_faults(), "src/base/a.cpp:2:", "a floor above it")

    def test_a_private_header_above_is_named_too(self):
        self.write("src/signal/b.hpp", "")
        self.write("src/base/a.hpp", '#  include "signal/b.hpp"\n')
        self.assert_one(self.layer_faults(), "src/base/a.hpp:1:", "a floor above it")

    def test_a_public_header_may_not_include_a_private_one(self):
        self.write("src/base/b.hpp", "")
        self.write("include/weft/high.hpp", '#include "base/b.hpp"\n')
        self.assert_one(self.layer_faults(), "include/weft/high.hpp:1:", "private")

    def test_a_public_header_may_not_include_a_third_party(self):
        self.write("include/weft/high.hpp", "#include <boost/context/fiber.hpp>\n")
        self.assert_one(self.layer_faults(), "include/weft/high.hpp:1:", "standard library and weft only")

    def test_a_public_header_without_a_floor_is_told_what_to_add(self):
        self.write("include/weft/new.hpp", "")
        self.assert_one(self.layer_faults(), "include/weft/new.hpp:1:", "add 'header weft/new.hpp <floor>'")

    def test_a_source_outside_the_floors(self):
        self.write("src/cellar/a.cpp", "")
        self.assert_one(self.layer_faults(), "src/cellar/a.cpp:1:", "outside the floors")

    def test_the_library_does_not_include_its_tests(self):
        self.write("tests/help.hpp", "")
        self.write("src/base/a.cpp", '#include "tests/help.hpp"\n')
        self.assert_one(self.layer_faults(), "src/base/a.cpp:1:", "not part of the library")

    def test_a_missing_file_of_ours(self):
        self.write("src/base/a.cpp", '#include "base/gone.hpp"\n')
        self.assert_one(self.layer_faults(), "src/base/a.cpp:1:", "no file of ours")

    def test_a_test_may_include_the_helpers_beside_it(self):
        self.write("tests/base/help.hpp", "")
        self.write("tests/base/a_test.cpp", '#include "base/help.hpp"\n')
        self.assertEqual(self.layer_faults(), [])

    def test_our_headers_are_included_with_quotes(self):
        self.write("include/weft/low.hpp", "")
        self.write("src/base/a.cpp", "#include <weft/low.hpp>\n")
        self.assert_one(self.layer_faults(), "src/base/a.cpp:1:", "with quotes")

    def test_a_door_opens_for_one_file_only(self):
        self.write("include/weft/low.hpp", '#include "explorer/seam.hpp"\n')
        self.write("include/weft/high.hpp", '#include "explorer/seam.hpp"\n')
        self.assert_one(self.layer_faults(), "include/weft/high.hpp:1:", "explorer/seam.hpp")


class Words(Planted):
    TABLE = "forbid thread_local ask the accessor\nforbid errno use the seam\nallow errno src/base/sys.cpp the seam\n"

    def faults(self):
        self.write("tools/house/words.txt", self.TABLE)
        return words.check(self.root, self.root / "tools/house/words.txt")[0]

    def test_a_forbidden_word_is_named_with_its_line(self):
        self.write("src/base/sys.cpp", "int f() { return errno; }\n")
        self.write("src/base/a.cpp", "int x;\nthread_local int y;\n")
        self.assert_one(self.faults(), "src/base/a.cpp:2:", "ask the accessor")

    def test_comments_strings_and_longer_names_are_not_uses(self):
        self.write("src/base/sys.cpp", "int f() { return errno; }\n")
        self.write("src/base/a.cpp", '// errno\n/* errno\n errno */ const char* s = "errno"; int my_errno;\n#include <errno.h>\n')
        self.assertEqual(self.faults(), [])

    def test_an_allowance_that_is_not_used_must_go(self):
        self.write("src/base/sys.cpp", "int f();\n")
        self.assert_one(self.faults(), "tools/house/words.txt:", "remove the line")


class Objects(unittest.TestCase):
    def test_the_function_that_touches_thread_local_storage_is_named(self):
        text = ("a.cpp.o:     file format elf64-x86-64\n\n0000 <weft::plain()>:\n   0:\tmov    %fs:0x28,%rax\n"
                "0008 <weft::yields()>:\n   8:\tmov    0x0(%rip),%rax\n\t\t\tb: R_X86_64_GOTTPOFF\tweft_thread_worker-0x4\n"
                "0010 <weft::cached()>:\n  10:\tmov    %fs:0x0,%rax\n\t\t\t15: R_X86_64_TPOFF32\tslot\n"
                "b.cpp.o:     file format elf64-x86-64\n0000 <weft::reads()>:\n   0:\tcall 5\n"
                "\t\t\t1: R_X86_64_PLT32\t__errno_location-0x4\n")
        self.assertEqual(objects.find_uses(text), [("a.cpp.o", "weft::cached()", "thread_local"),
                                                   ("b.cpp.o", "weft::reads()", "errno")])


class Spdx(Planted):
    def test_the_first_line_of_source_and_the_second_of_a_script(self):
        self.write("src/base/a.cpp", "// SPDX-License-Identifier: MIT\n")
        self.write("tools/x.sh", "#!/bin/sh\n# SPDX-License-Identifier: MIT\n")
        self.assertEqual(spdx.check(self.root)[0], [])
        self.write("src/base/b.cpp", "int x;\n")
        self.assert_one(spdx.check(self.root)[0], "src/base/b.cpp:1:", "SPDX")

    def test_the_last_line_ends(self):
        self.write("src/base/a.cpp", "// SPDX-License-Identifier: MIT\nint x;")
        self.assert_one(spdx.check(self.root)[0], "src/base/a.cpp:2:", "newline")


class Blanking(unittest.TestCase):
    def test_lines_stay_where_they_are(self):
        text = 'a /* x\ny */ b\n"s // t" c // d\nR"(raw\n// text)" e 1\'000 f\n'
        blank = tree.without_comments(text)
        self.assertEqual(blank.count("\n"), text.count("\n"))
        self.assertEqual([line.split() for line in blank.splitlines()],
                         [["a"], ["b"], ['""', "c"], ['R""'], ["e", "1'000", "f"]])


class OneWay(unittest.TestCase):
    HEADERS = {"runtime.hpp": "auto go(F&& f) {\n", "future.hpp": "auto async(F&& f) {\nT await(Future<T>&& f) {\n",
               "race.hpp": "auto race(Rs&&... r) {\nAny<T> any(V v) {\nauto join_all(V v) {\nAll<T> as_completed(V v) {\n",
               "scope.hpp": "auto timeout(Span s, F&& f) {\nvoid cancel_scope();\n"}

    def test_one_of_each_is_fine(self):
        self.assertEqual(one_way.problems(self.HEADERS), [])

    def test_a_second_way_is_refused(self):
        found = one_way.problems(dict(self.HEADERS, **{"tasks.hpp": "void spawn_task(F f);\n"}))
        self.assertEqual(len(found), 1)
        self.assertIn("tasks.hpp: spawn_task", found[0])

    def test_a_second_header_with_a_known_verb_is_refused(self):
        self.assertEqual(len(one_way.problems(dict(self.HEADERS, **{"old.hpp": "auto race(A a, B b) {\n"}))), 1)

    def test_detail_and_members_do_not_count(self):
        text = "namespace detail {\nvoid spawn_it();\n}  // namespace detail\nclass X {\n  void spawn();\n};\n"
        self.assertEqual(one_way.problems(dict(self.HEADERS, **{"x.hpp": text})), [])

    def test_a_way_that_is_gone_is_told(self):
        self.assertEqual(len(one_way.problems({k: v for k, v in self.HEADERS.items() if k != "runtime.hpp"})), 1)


class Reviews(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tests").mkdir()
        (self.root / "tests" / "a_test.cpp").write_text("")
        links = "".join(f"[{n}]({n}.md)\n" for n in "abcde")
        (self.root / "README.md").write_text(links)
        for name in "abcde":
            self.record(name, "| it broke | tests/a_test.cpp |\n")

    def record(self, name, row):
        (self.root / f"{name}.md").write_text("| finding | closed by |\n|---|---|\n" + row)

    def found(self):
        return reviews.problems(self.root, self.root)

    def test_all_closed(self):
        self.assertEqual(self.found(), [])

    def test_an_open_finding(self):
        self.record("b", "| it broke | soon |\n")
        self.assertEqual(self.found(), ["b.md: open: it broke"])

    def test_a_test_that_is_gone(self):
        self.record("c", "| it broke | tests/b_test.cpp |\n")
        self.assertEqual(self.found(), ["c.md: tests/b_test.cpp is gone"])

    def test_a_phase_without_a_record(self):
        (self.root / "d.md").unlink()
        self.assertEqual(self.found(), ["d.md is missing"])


if __name__ == "__main__":
    unittest.main()

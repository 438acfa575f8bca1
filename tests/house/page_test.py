# SPDX-License-Identifier: MIT
"""What tools/docs/page.py makes of a page, and which faults it finds."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))
import page  # noqa: E402

TWO = """# Title

```cpp
#include <iostream>
int main() { return 0; }
```

```text
hello
```

```sh
not looked at
```

```cpp plain WEFT_SOMETHING=1
int x = 0;
```

```text shape exit 3
task 12 waits 1.5ms, spawned at main.cpp:7
...
at 0xff
```
"""


class PageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = self.folder / "two.md"
        self.page.write_text(TWO)

    def run_page(self, script, accept=False, frames=True):
        program = self.folder / "program"
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = page.run(self.page, str(program), [], accept=accept, frames=frames)
        return code, said.getvalue()

    GOOD = """case $1 in
1) echo hello ;;
2) echo "task 7 waits 300us, spawned at main.cpp:7"; echo a; echo b; echo "at 0x1234"; exit 3 ;;
esac
"""

    def test_blocks_are_found_with_their_output_and_words(self):
        _, blocks = page.blocks_of(self.page)
        self.assertEqual([block.line for block in blocks], [4, 17])
        self.assertTrue(blocks[0].is_program)
        self.assertEqual(blocks[0].shown[1], ["hello"])
        self.assertEqual(blocks[1].shown[2], ["shape", "exit", "3"])

    def test_a_program_is_made_of_all_blocks(self):
        out = self.folder / "out.cpp"
        page.extract(self.page, out)
        text = out.read_text()
        self.assertIn("namespace two_block_1 {", text)
        self.assertIn('#line 17 "two.md"', text)
        self.assertEqual(text.count("int main("), 1)
        self.assertLess(text.index("#include <iostream>"), text.index("namespace"))

    def test_what_the_page_shows_passes(self):
        self.assertEqual(self.run_page(self.GOOD)[0], 0)

    def test_another_output_is_a_fault_with_page_block_and_line(self):
        code, said = self.run_page(self.GOOD.replace("hello", "hullo"))
        self.assertEqual(code, 1)
        self.assertIn("two.md: block 1 (line 4)", said)
        self.assertIn("+hullo", said)

    def test_output_that_the_page_does_not_show_is_a_fault(self):
        self.page.write_text(TWO.replace("```text\nhello\n```\n", ""))
        self.assertEqual(self.run_page(self.GOOD)[0], 1)

    def test_another_exit_code_is_a_fault(self):
        self.assertEqual(self.run_page(self.GOOD.replace("exit 3", "exit 4"))[0], 1)

    def test_another_shape_is_a_fault(self):
        self.assertEqual(self.run_page(self.GOOD.replace("main.cpp:7", "main.cpp:8"))[0], 1)
        self.assertEqual(self.run_page(self.GOOD.replace("waits", "sleeps"))[0], 1)
        self.assertEqual(self.run_page(self.GOOD.replace("at 0x1234", "at 0x1234; echo more"))[0], 1)

    def test_without_frames_lines_are_numbers_and_blocks_with_frames_are_left_out(self):
        self.assertEqual(self.run_page(self.GOOD.replace("main.cpp:7", "main.cpp:8"), frames=False)[0], 0)
        self.assertEqual(self.run_page(self.GOOD.replace("main.cpp:7", "other.cpp:7"), frames=False)[0], 1)
        self.page.write_text(TWO.replace("```cpp plain", "```cpp frames plain"))
        self.assertEqual(self.run_page("echo hello", frames=False)[0], 0)
        self.assertEqual(self.run_page("echo hello", frames=True)[0], 1)

    def test_an_emulator_may_have_flags_of_its_own(self):
        self.run_page(self.GOOD)  # writes the program
        command = [sys.executable, ROOT / "tools/docs/page.py", "run", self.page, self.folder / "program", "env", "-u", "HOME"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_signal_is_the_exit_code_that_a_shell_shows(self):
        code, said = self.run_page(self.GOOD.replace("echo hello", "kill -SEGV $$"))
        self.assertEqual(code, 1)
        self.assertIn("its exit code is 139", said)

    def test_accepting_writes_the_output_into_the_page(self):
        self.run_page(self.GOOD.replace("hello", "hullo"), accept=True)
        self.assertIn("```text\nhullo\n```", self.page.read_text())
        self.assertEqual(self.run_page(self.GOOD.replace("hello", "hullo"))[0], 0)

    def test_a_book_has_all_its_pages_and_few_blocks_that_are_not_compiled(self):
        contents = self.folder / "README.md"
        with contextlib.redirect_stdout(io.StringIO()):
            contents.write_text("# The book\n")
            self.assertEqual(page.book(self.folder), 1)
            contents.write_text("# The book\n[two](two.md)\n")
            self.assertEqual(page.book(self.folder), 0)
            self.page.write_text(TWO + "```cpp ignore\n```\n")
            self.assertEqual(page.book(self.folder), 1)
            self.page.write_text(TWO + "```cpp ignore not yet\n```\n" * 3)
            self.assertEqual(page.book(self.folder), 1)


if __name__ == "__main__":
    unittest.main()

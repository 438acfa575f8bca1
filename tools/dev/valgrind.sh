# SPDX-License-Identifier: MIT
# The unit tests of the plain build under memcheck: leaks that are certain and errors fail. Cases whose names say
# [slow] or [stress] count operations by the million and are left to the sanitizers. The explorer's tests of itself plant
# crashes and abandon the stacks they happened on, which is a leak by intent: not here.
# --max-stackframe: a larger change of the stack pointer is a switch (src/fiber/tool_hooks.hpp).
say "test dev under valgrind"
red=()
for program in "$ROOT"/build/dev/weft_*_tests; do
  name=$(basename "$program")
  [ "$name" != weft_verify_tests ] || continue
  say "valgrind $name"
  valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --fair-sched=yes \
    --max-stackframe=65536 "$program" --no-intro --test-case-exclude='*[slow]*,*[stress]*' || red+=("$name")
done
[ ${#red[@]} -eq 0 ] || die "under valgrind failed: ${red[*]}"

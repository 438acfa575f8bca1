# SPDX-License-Identifier: MIT
# The unit tests of the plain build under memcheck: leaks that are certain and errors fail. Cases whose names say
# [slow] or [stress] count operations by the million and are left to the sanitizers. The explorer's tests of itself plant
# crashes and abandon the stacks they happened on, which is a leak by intent: not here.
say "test dev under valgrind"
for program in "$ROOT"/build/dev/weft_*_tests; do
  case $program in */weft_verify_tests) continue ;; esac
  say "valgrind $(basename "$program")"
  valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --fair-sched=yes \
    "$program" --no-intro --test-case-exclude='*[slow]*,*[stress]*' || die "valgrind: $(basename "$program") failed"
done

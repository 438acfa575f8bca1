# SPDX-License-Identifier: MIT
# The unit tests of the plain build under memcheck: leaks that are certain and errors fail. Cases whose names say
# [slow] or [stress] count operations by the million and are left to the sanitizers.
say "test dev under valgrind"
for program in "$ROOT"/build/dev/weft_*_tests; do
  say "valgrind $(basename "$program")"
  valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --fair-sched=yes \
    "$program" --no-intro --test-case-exclude='*[slow]*,*[stress]*' || die "valgrind: $(basename "$program") failed"
done

# SPDX-License-Identifier: MIT
# ./dev test --full, after the plain suite: the same tests under other compilers, sanitizers and machines.

# suite_of PRESET: build and run unit tests, examples and scenarios there; the house was checked once already.
suite_of() {
  local preset=$1
  shift
  configure "$preset"
  build "$preset"
  run_ctest "$preset" --label-exclude '^(house|full)$' "$@"
}

run_ctest dev -L '^full$'
suite_of clang
ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1 \
  UBSAN_OPTIONS=print_stacktrace=1 suite_of asan
TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 suite_of tsan
source "$ROOT/tools/dev/valgrind.sh"
suite_of aarch64
source "$ROOT/tools/dev/same_bytes.sh"

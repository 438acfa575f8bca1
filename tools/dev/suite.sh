# SPDX-License-Identifier: MIT
# Running tests that are built: whole suites by ctest, single cases by their name.

# run_ctest PRESET [ctest arguments]: fails with the failing tests' output; ctest's own summary is the closing lines.
run_ctest() {
  local preset=$1
  shift
  say "test $preset"
  ctest --test-dir "$ROOT/build/$preset" -j "$(jobs_wanted)" --output-on-failure --no-tests=error "$@" ||
    die "tests failed in build/$preset (their output is above)"
}

run_filtered() {
  local text=$1 program found=
  if [ "$(ctest --test-dir "$ROOT/build/dev" -N -R "$text" 2>/dev/null | sed -n 's/^Total Tests: //p')" != 0 ]; then
    run_ctest dev -R "$text"
    return
  fi
  for program in "$ROOT"/build/dev/weft_*_tests; do
    [ -x "$program" ] || continue
    [ "$("$program" -tc="*$text*" --count --no-version 2>/dev/null | sed -n 's/.*: \([0-9]*\)$/\1/p' | tail -1)" != 0 ] || continue
    found=1
    say "$(basename "$program") -tc='*$text*'"
    "$program" -tc="*$text*" -s=false || die "test cases failed (their output is above)"
  done
  [ -n "$found" ] || die "neither a ctest nor a test case matches '$text'"
}

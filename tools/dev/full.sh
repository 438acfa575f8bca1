# SPDX-License-Identifier: MIT
#:
#: Stages of --full, in this order:
#:   plain       what ./dev test runs
#:   clang       unit tests, examples, book and consumers, compiled by clang++-19 -O2
#:   asan        unit tests, examples and book under AddressSanitizer and UBSan
#:   tsan        the same under ThreadSanitizer
#:   valgrind    the unit tests of the plain build under memcheck
#:   aarch64     the same as asan, cross-compiled, under qemu
#:   same_bytes  how each test case ends and what each example writes: the same on x86-64 and aarch64
#:   explore     the explorer's scenarios, each by 100,000 executions of a random walk and of PCT, with a seed of the day
#:   long        gdb, each header alone, the analyzer, migration by other compilers and flags, a million fibers
#:   minutes     storms on the scheduler and on every way to wait, HTTP load on both engines: ten minutes of each

STAGES=(plain clang asan tsan valgrind aarch64 same_bytes explore long minutes)

made() { configure "$1" && build "$1"; }

# suite_of PRESET: unit tests and examples there; the house was checked once already.
suite_of() {
  made "$1"
  run_ctest "$1" --label-exclude '^(house|full)$'
}

stage_plain() { made dev; run_ctest dev --label-exclude '^full$'; }
stage_clang() { suite_of clang; }
stage_asan() {
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
  export UBSAN_OPTIONS=print_stacktrace=1 WEFT_SPEC_ASSERT=0
  suite_of asan
}
# By the short ways, which the checks of a debug build close.
stage_tsan() { export WEFT_SPEC_ASSERT=0 TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1; suite_of tsan; }
stage_valgrind() { made dev; source "$ROOT/tools/dev/valgrind.sh"; }
stage_aarch64() { suite_of aarch64; }
stage_same_bytes() { made dev; made aarch64; source "$ROOT/tools/dev/same_bytes.sh"; }
stage_explore() { configure verify; build verify weft_verify; source "$ROOT/tools/dev/explore.sh"; }
stage_long() { made dev; run_ctest dev -L '^full$' --label-exclude '^minutes$'; }
stage_minutes() { made dev; run_ctest dev -L '^minutes$'; }

known_stages() {
  local stage
  for stage in "$@"; do
    case " ${STAGES[*]} " in *" $stage "*) ;; *) refuse "there is no stage '$stage' (there are: ${STAGES[*]})" ;; esac
  done
}

# run_stages STAGE...: each to its end, whatever became of the ones before it; then the table. Fails if one did.
run_stages() {
  local stage began status table='' red=()
  for stage in "$@"; do
    say "stage $stage"
    began=$SECONDS
    set +e  # not `|| status=$?`: that would switch off -e inside the stage
    (set -e; "stage_$stage")
    status=$?
    set -e
    [ $status -eq 0 ] || red+=("$stage")
    table+=$(printf '%-10s  %-5s  %7s' "$stage" "$([ $status -eq 0 ] && echo green || echo RED)" \
      "$(((SECONDS - began + 30) / 60)) min")$'\n'
  done
  printf '\n%s\n' "$table"
  [ ${#red[@]} -eq 0 ] || die "red: ${red[*]}"
}

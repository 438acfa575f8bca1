# SPDX-License-Identifier: MIT
#: usage: ./dev test [--quick | --full | FILTER]
#:
#:   (nothing)  unit tests, house checks with clang-tidy (its analyzer with --full), explorer scenarios, examples, consumer projects
#:   --quick    the same without clang-tidy
#:   --full     also: gdb, clang, ASan+UBSan, TSan, valgrind, aarch64 under qemu compared with x86-64
#:   FILTER     only ctests whose name matches the regular expression, e.g. base.deque; if none does,
#:              only test cases whose name contains the text, e.g. J-042

mode=normal
filter=
for argument in "$@"; do
  case $argument in
    -h | --help) help_of test; exit 0 ;;
    --quick) mode=quick ;;
    --full) mode=full ;;
    -*) refuse "it does not know '$argument'" ;;
    *) [ -z "$filter" ] || refuse "one filter at a time"; filter=$argument ;;
  esac
done
source "$ROOT/tools/dev/suite.sh"

began=$SECONDS
case $mode in
  full) setup_for full ;;
  *) setup_for test ;;
esac
configure dev
build dev

if [ -n "$filter" ]; then
  run_filtered "$filter"
elif [ $mode = quick ]; then
  run_ctest dev --label-exclude '^(tidy|full)$'
else
  run_ctest dev --label-exclude '^full$'
  if [ $mode = full ]; then source "$ROOT/tools/dev/full.sh"; fi
fi
say "./dev test${*:+ $*}: passed in $((SECONDS - began)) s"

# SPDX-License-Identifier: MIT
#: usage: ./dev test [--quick | --full [STAGE...] | FILTER]
#:
#:   (nothing)  unit tests, house checks with clang-tidy (its analyzer with --full), explorer scenarios, examples, consumer projects
#:   --quick    the same without clang-tidy
#:   --full     the stages below, all or those named; a red one does not stop the next
#:   FILTER     only ctests whose name matches the regular expression, e.g. base.deque; if none does,
#:              only test cases whose name contains the text, e.g. J-042

mode=normal
wanted=()
for argument in "$@"; do
  case $argument in
    -h | --help) help_of test; help_of full; exit 0 ;;
    --quick) mode=quick ;;
    --full) mode=full ;;
    -*) refuse "it does not know '$argument'" ;;
    *) wanted+=("$argument") ;;
  esac
done
source "$ROOT/tools/dev/suite.sh"

began=$SECONDS
if [ $mode = full ]; then
  source "$ROOT/tools/dev/full.sh"
  [ ${#wanted[@]} -gt 0 ] || wanted=("${STAGES[@]}")
  known_stages "${wanted[@]}"
  setup_for full
  run_stages "${wanted[@]}"
else
  [ ${#wanted[@]} -le 1 ] || refuse "one filter at a time"
  setup_for test
  configure dev
  build dev
  if [ ${#wanted[@]} -gt 0 ]; then
    run_filtered "${wanted[0]}"
  elif [ $mode = quick ]; then
    run_ctest dev --label-exclude '^(tidy|full)$'
  else
    run_ctest dev --label-exclude '^full$'
  fi
fi
say "./dev test${*:+ $*}: passed in $((SECONDS - began)) s"

# SPDX-License-Identifier: MIT
#: usage: ./dev verify [TEXT] [flags of weft_verify]
#:
#: Builds verify/ optimised, with every seam instrumented, and runs the explorer scenarios (or those whose name contains
#: TEXT). Flags go to the program: --list, --group, --mode dfs|pct|random, --bound N, --seed N, --replay STRING, ...;
#: `./dev verify --flags` prints them all. Without any argument the Spin models of verify/models are checked as well.

arguments=()
case ${1:-} in
  -h | --help) help_of verify; exit 0 ;;
  --flags) shift; arguments=(--help) ;;
  "" | -*) ;;
  *) arguments=(--run "$1"); shift ;;
esac
setup_for test
configure verify
build verify weft_verify
if [ ${#arguments[@]} -eq 0 ] && [ $# -eq 0 ]; then
  "$ROOT/build/verify/weft_verify"
  exec python3 "$ROOT/verify/models/check.py"
fi
exec "$ROOT/build/verify/weft_verify" "${arguments[@]}" "$@"

# SPDX-License-Identifier: MIT
#: usage: ./dev bench [NAME] [--peers] [--json FILE] [more flags of the bench program]
#:
#: Builds bench/ optimised and measures. NAME is a group of benches (fiber unless named); --peers measures other
#: libraries in the same run; --json writes the rows. `./dev bench NAME --list` shows what a group holds.

name=fiber
case ${1:-} in
  -h | --help) help_of bench; exit 0 ;;
  "" | -*) ;;
  *) name=$1; shift ;;
esac
setup_for core bench
configure release
build release weft_bench
exec "$ROOT/build/release/weft_bench" "$name" "$@"

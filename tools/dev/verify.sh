# SPDX-License-Identifier: MIT
#: usage: ./dev verify [FILTER]
#:
#: Builds verify/ optimised, with every seam instrumented, and runs the explorer scenarios (or those whose name matches).

case ${1:-} in
  -h | --help) help_of verify; exit 0 ;;
  -*) refuse "it does not know '$1'" ;;
esac
[ $# -le 1 ] || refuse "one filter at a time"
source "$ROOT/tools/dev/suite.sh"
setup_for test
configure verify
build verify
run_ctest verify ${1:+-R "$1"}

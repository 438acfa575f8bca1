# SPDX-License-Identifier: MIT
#: usage: ./dev lint
#:
#: The house checks alone: layers, words, SPDX lines, format, headers that stand alone, clang warnings, clang-tidy.

case ${1:-} in
  -h | --help) help_of lint; exit 0 ;;
  ?*) refuse "it takes no arguments, not '$1'" ;;
esac
source "$ROOT/tools/dev/suite.sh"
setup_for test
configure dev
run_ctest dev -L '^house$'

# SPDX-License-Identifier: MIT
#: usage: ./dev doc
#:
#: Lists the documents of the tree and checks that every relative link in them leads to a file.

case ${1:-} in
  -h | --help) help_of doc; exit 0 ;;
  ?*) refuse "it takes no arguments, not '$1'" ;;
esac
setup_for test
exec python3 "$ROOT/tools/house/links.py" --list

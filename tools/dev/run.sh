# SPDX-License-Identifier: MIT
#: usage: ./dev run [EXAMPLE]
#:
#: The tour: builds examples/ optimised and runs them in order. With the name (or number) of an example, only that one.

case ${1:-} in
  -h | --help) help_of run; exit 0 ;;
  -*) refuse "it does not know '$1'" ;;
esac
[ $# -le 1 ] || refuse "one example at a time"
chosen=()
for file in examples/*.cpp; do
  name=$(basename "$file" .cpp)
  case $name in "${1:-}"*) chosen+=("$name") ;; esac
done
[ ${#chosen[@]} -gt 0 ] || refuse "there is no example '${1:-}' (there are: $(cd examples && echo *.cpp | sed 's/\.cpp//g'))"

setup_for core
configure release
build release examples
for name in "${chosen[@]}"; do
  say "examples/$name.cpp"
  "build/release/examples/$name" || die "the example $name ended with $?"
done

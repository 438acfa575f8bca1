# SPDX-License-Identifier: MIT
#: usage: ./dev run [--list | EXAMPLE...]
#:
#: The tour: builds examples/ optimised and runs them in order, each under a heading that says what it shows.
#:   --list     names them, one line each, and builds nothing
#:   EXAMPLE    only that one: its number, its name, or the beginning of its name (./dev run 9, ./dev run channels)

# The first sentence of the comment that opens an example.
sentence_of() {
  awk 'NR > 1 { if (!/^\/\/ [^ ]/) exit; sub(/^\/\/ ?/, ""); printf "%s%s", gap, $0; gap = " " }' "$ROOT/examples/$1.cpp" |
    sed 's/\([.:]\) [A-Z].*/\1/; s/[.:]$//'
}
number_of() { echo $((10#${1%%_*})); }
title_of() { local text=${1#*_}; echo "${text//_/ }"; }

list_examples() {
  local name
  for name in "${examples[@]}"; do printf '%3d  %-15s %s\n' "$(number_of "$name")" "${name#*_}" "$(sentence_of "$name")"; done
}

# Appends to `chosen` what the word means.
choose() {
  local name found=()
  for name in "${examples[@]}"; do
    case ${1,,} in
      "$name" | "${name#*_}" | "$(number_of "$name")" | "${name%%_*}") found=("$name"); break ;;
    esac
    case $name in "$1"* | *_"${1,,}"*) found+=("$name") ;; esac
  done
  if [ ${#found[@]} -eq 1 ]; then chosen+=("${found[0]}"); return; fi
  if [ ${#found[@]} -gt 1 ]; then refuse "'$1' could be any of these: ${found[*]#*_}"; fi
  echo "./dev run: there is no example '$1'. There are:" >&2
  list_examples >&2
  exit 2
}

show() {
  local name=$1 position=$2 bold='' plain='' code=0
  if [ ! -x "build/tour/examples/$name" ]; then
    printf '\n%s  %s  is left out: a library that it needs is not here (build/tour.configure.log says which)\n' "$position" "$(title_of "$name")"
    return
  fi
  if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
  printf '\n%s%s  %s%s  examples/%s.cpp\n%s\n' "$bold" "$position" "$(title_of "$name")" "$plain" "$name" "$(sentence_of "$name")"
  # What it prints is set off; a program that hangs is a bug, and is ended.
  timeout 60 "build/tour/examples/$name" 2>&1 | sed 's/^/    /' || code=$?
  [ "$code" = 0 ] || die "the example $name ended with $code"
}

examples=()
for file in examples/*.cpp; do examples+=("$(basename "$file" .cpp)"); done
chosen=()
for argument in "$@"; do
  case $argument in
    -h | --help) help_of run; exit 0 ;;
    --list) list_examples; exit 0 ;;
    -*) refuse "it does not know '$argument'" ;;
    *) choose "$argument" ;;
  esac
done

setup_for core
configure tour
targets=(examples)
if [ ${#chosen[@]} -gt 0 ]; then targets=("${chosen[@]/#/example_}"); else chosen=("${examples[@]}"); fi
known=$(ninja -C build/tour -t targets all | sed -n 's/^\(example[^:/]*\): phony$/\1/p')
for target in "${targets[@]}"; do
  grep -qx "$target" <<<"$known" || die "$target cannot be built here: a library that it needs is missing (build/tour.configure.log says which)"
done
build tour "${targets[@]}"
began=$SECONDS
position=0
for name in "${chosen[@]}"; do
  position=$((position + 1))
  if [ ${#chosen[@]} -gt 1 ]; then show "$name" "$position/${#chosen[@]}"; else show "$name" "$(number_of "$name")"; fi
done
[ ${#chosen[@]} -eq 1 ] || say "the tour: ${#chosen[@]} examples in $((SECONDS - began)) s. Each is a program to read; docs/book explains."

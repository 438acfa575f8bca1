# SPDX-License-Identifier: MIT
#: usage: ./dev format [--check] [FILE...]
#:
#: Runs clang-format-19 over the C++ of the tree, or the named files. --check changes nothing and fails if it would.

mode=(-i)
files=()
for argument in "$@"; do
  case $argument in
    -h | --help) help_of format; exit 0 ;;
    --check) mode=(--dry-run -Werror) ;;
    -*) refuse "it does not know '$argument'" ;;
    *) files+=("$argument") ;;
  esac
done
setup_for test
if [ ${#files[@]} -eq 0 ]; then
  folders=()
  for folder in include src tests verify bench examples; do [ -d "$folder" ] && folders+=("$folder"); done
  mapfile -t files < <(find "${folders[@]}" -type f \( -name '*.hpp' -o -name '*.cpp' \) | sort)
fi
[ ${#files[@]} -gt 0 ] || exit 0
if printf '%s\0' "${files[@]}" | xargs -0 -n 20 -P "$(jobs_wanted)" clang-format-19 --style=file "${mode[@]}"; then
  say "format: ${#files[@]} files, fine"
else
  die "some files are not formatted: ./dev format mends that"
fi

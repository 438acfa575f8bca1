#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tidy.sh CLANG_TIDY FILE FLAGS_FILE [CLANG_TIDY_FLAG...]: clang-tidy without its count of warnings in other people's headers.
set -euo pipefail
mapfile -t flags <"$3"
"$1" --quiet --config-file="$(dirname "$0")/../../.clang-tidy" "${@:4}" "$2" -- "${flags[@]}" 2> >(grep -v ' warnings\? generated\.$' >&2)

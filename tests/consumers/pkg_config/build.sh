#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# build.sh COMPILER SOURCE OUTPUT [PACKAGE]: a consumer without CMake; PKG_CONFIG_PATH leads to weft.pc.
set -euo pipefail
read -ra compile_flags <<<"$(pkg-config --cflags "${4:-weft}")"
read -ra link_flags <<<"$(pkg-config --libs "${4:-weft}")"
"$1" "${compile_flags[@]}" "$2" -o "$3" "${link_flags[@]}"

# SPDX-License-Identifier: MIT
# What the words of ./dev share.

say() { printf '== %s\n' "$*" >&2; }
die() { printf './dev: %s\n' "$*" >&2; exit 1; }
refuse() { printf './dev %s: %s. ./dev %s --help tells what it takes.\n' "$word" "$1" "$word" >&2; exit 2; }

# Prints the comment block that opens a word's own file: the help text stands beside the code.
help_of() { sed -n '/^#:/s/^#: \{0,1\}//p' "$ROOT/tools/dev/$1.sh"; }

PRESETS=(dev release tour clang asan tsan verify coverage aarch64)
known_preset() {
  local preset
  for preset in "${PRESETS[@]}"; do [ "$preset" = "$1" ] && return 0; done
  return 1
}

jobs_wanted() { echo "${WEFT_JOBS:-$(nproc 2>/dev/null || echo 2)}"; }

# setup_for SET...: makes sure that the packages of the sets are there.
setup_for() {
  [ -z "${WEFT_NO_SETUP:-}" ] || return 0
  ( word=setup; source "$ROOT/tools/dev/setup.sh" --quiet "$@" )
}

# configure PRESET [cmake arguments]: quiet unless it fails.
configure() {
  local preset=$1 log
  shift
  log=$ROOT/build/$preset.configure.log
  mkdir -p "$ROOT/build"
  say "configure $preset"
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    die "configuring the preset '$preset' failed (log above)"
  fi
}

# build PRESET [targets]: shows ninja's own progress.
build() {
  local preset=$1 targets=()
  shift
  [ $# -eq 0 ] || targets=(--target "$@")
  say "build $preset${*:+ ($*)}"
  NINJA_STATUS='[%f/%t %es] ' cmake --build "$ROOT/build/$preset" -j "$(jobs_wanted)" "${targets[@]}" >&2
}

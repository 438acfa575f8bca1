# SPDX-License-Identifier: MIT
#: usage: ./dev build [PRESET] [TARGET...]
#:
#: Configures and compiles a preset (dev unless named) into build/PRESET. Presets:
#:   dev       g++, -O1 -g, assertions, tests          release   g++, -O2 -g, examples and benchmarks
#:   clang     clang++-19, -O2                         asan      AddressSanitizer and UBSan
#:   tsan      ThreadSanitizer (clang++-19)            verify    explorer scenarios, optimised
#:   coverage  gcov                                    aarch64   cross build, runs under qemu
#:   tour      what ./dev run uses: examples, with the library compiled in few large pieces
#: WEFT_JOBS=N limits the parallel compilers.

preset=dev
case ${1:-} in
  -h | --help) help_of build; exit 0 ;;
  -*) refuse "it does not know '$1'" ;;
esac
if [ $# -gt 0 ]; then
  if known_preset "$1"; then preset=$1; shift
  else refuse "there is no preset '$1' (there are: ${PRESETS[*]})"; fi
fi
case $preset in
  dev) setup_for test ;;
  release | tour) setup_for core ;;
  verify) setup_for test ;;
  *) setup_for full ;;
esac
configure "$preset"
build "$preset" "$@"

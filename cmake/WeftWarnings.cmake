# SPDX-License-Identifier: MIT
# weft_warnings: linked PRIVATE by everything we compile ourselves, never exported.
set(WEFT_WARNING_FLAGS
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
    -Wcast-align -Wcast-qual -Wundef -Wformat=2 -Wnull-dereference -Wextra-semi -Wold-style-cast -Wimplicit-fallthrough)
set(WEFT_GCC_WARNING_FLAGS -Wduplicated-cond -Wlogical-op -Wsuggest-override)
set(WEFT_CLANG_WARNING_FLAGS -Wthread-safety -Wloop-analysis -Wnewline-eof)

add_library(weft_warnings INTERFACE)
target_compile_options(weft_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${WEFT_WARNING_FLAGS}>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:${WEFT_GCC_WARNING_FLAGS}>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:Clang>>:${WEFT_CLANG_WARNING_FLAGS}>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${WEFT_WERROR}>>:-Werror>)
# g++ reports false -Wnull-dereference through inlined library code once sanitizers add branches.
if(WEFT_SANITIZE)
  target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-null-dereference>)
endif()

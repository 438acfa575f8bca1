# SPDX-License-Identifier: MIT
# What we take from outside. Header-only things are linked into one folder of the build tree, so that a cross build
# never sees /usr/include of the host.
set(WEFT_THIRD_DIR ${PROJECT_BINARY_DIR}/third)
file(MAKE_DIRECTORY ${WEFT_THIRD_DIR})

# libbacktrace comes with gcc, in its own directories; clang does not look for the header there.
function(weft_find_backtrace)
  include(CheckCXXSourceCompiles)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(gcc ${CMAKE_CXX_COMPILER})
  else()
    find_program(WEFT_GCC g++)
    set(gcc ${WEFT_GCC})
  endif()
  if(gcc)
    execute_process(COMMAND ${gcc} -print-file-name=include/backtrace.h OUTPUT_VARIABLE header
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(IS_ABSOLUTE "${header}" AND EXISTS "${header}")
      file(CREATE_LINK ${header} ${WEFT_THIRD_DIR}/backtrace.h SYMBOLIC)
    endif()
  endif()
  set(CMAKE_REQUIRED_INCLUDES ${WEFT_THIRD_DIR})
  set(CMAKE_REQUIRED_LIBRARIES backtrace)
  check_cxx_source_compiles("
    #include <backtrace.h>
    int main() { return backtrace_create_state(nullptr, 1, nullptr, nullptr) == nullptr; }" WEFT_HAS_BACKTRACE)
endfunction()
weft_find_backtrace()

if(WEFT_BUILD_TESTS OR WEFT_BUILD_VERIFY)
  find_path(WEFT_DOCTEST_INCLUDE doctest/doctest.h HINTS /usr/include NO_CMAKE_FIND_ROOT_PATH)
  if(WEFT_DOCTEST_INCLUDE)
    file(CREATE_LINK ${WEFT_DOCTEST_INCLUDE}/doctest ${WEFT_THIRD_DIR}/doctest SYMBOLIC)
  else()
    message(FATAL_ERROR "doctest is missing: run ./dev setup, or configure with -DWEFT_BUILD_TESTS=OFF")
  endif()
endif()
if(WEFT_BUILD_TESTS AND NOT CMAKE_CROSSCOMPILING)
  find_package(rapidcheck QUIET)
endif()
find_package(Threads REQUIRED)

# SPDX-License-Identifier: MIT
# Everything a builder may choose. Consumers (add_subdirectory) get the library only, without -Werror.
option(BUILD_SHARED_LIBS "Build weft as a shared library" OFF)
option(WEFT_WERROR "Warnings are errors" OFF)
option(WEFT_BUILD_TESTS "Build tests/ and the house checks" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_EXAMPLES "Build examples/" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_VERIFY "Build verify/ against a library compiled with WEFT_VERIFY=1" OFF)
option(WEFT_BUILD_BENCH "Build bench/" OFF)
option(WEFT_INSTALL "Generate install rules" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_TLS "Build weft::tls where OpenSSL 3 is found" ON)
option(WEFT_COVERAGE "Count executed lines (gcov)" OFF)
option(WEFT_CCACHE "Compile through ccache when it is there" ${PROJECT_IS_TOP_LEVEL})
# Ten times as fast to build from nothing, and slower to build again: for who builds us as a part.
if(PROJECT_IS_TOP_LEVEL)
  option(WEFT_UNITY "Compile the library in few large translation units" OFF)
else()
  option(WEFT_UNITY "Compile the library in few large translation units" ON)
endif()
set(WEFT_SANITIZE "" CACHE STRING "Value for -fsanitize=, e.g. address,undefined or thread")

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
  endif()
endif()

if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WEFT_CCACHE_PROGRAM ccache)
  if(WEFT_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${WEFT_CCACHE_PROGRAM})
  endif()
endif()

# Tests that build something use as many compilers as the machine has cores, no more.
include(ProcessorCount)
ProcessorCount(WEFT_CORES)
if(WEFT_CORES EQUAL 0)
  set(WEFT_CORES 1)
endif()

include(GNUInstallDirs)

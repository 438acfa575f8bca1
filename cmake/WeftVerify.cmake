# SPDX-License-Identifier: MIT
# The real code with WEFT_VERIFY=1 (instrumented seams), and the explorer scenarios over it.
file(GLOB_RECURSE WEFT_VERIFY_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/verify/*.cpp)
if(NOT WEFT_VERIFY_SOURCES)
  return()
endif()
include(${PROJECT_SOURCE_DIR}/cmake/verify.cmake)

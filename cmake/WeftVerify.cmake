# SPDX-License-Identifier: MIT
# The real code once more with WEFT_VERIFY=1 (instrumented seams), the explorer that drives it (verify/explorer/), and the
# scenarios: every other .cpp under verify/ holds doctest cases and becomes one ctest, verify.<name>.
file(GLOB explorer CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/verify/explorer/*.cpp)
file(GLOB_RECURSE scenarios CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/verify/*.cpp)
list(FILTER scenarios EXCLUDE REGEX "/verify/explorer/[^/]*$")
if(NOT explorer)
  return()
endif()

weft_library(weft_explored STATIC EXCLUDE_FROM_ALL)
target_sources(weft_explored PRIVATE ${explorer})
target_compile_definitions(weft_explored PUBLIC WEFT_VERIFY=1)
target_include_directories(weft_explored PUBLIC ${PROJECT_SOURCE_DIR}/verify ${PROJECT_SOURCE_DIR}/src)

if(scenarios)
  add_executable(weft_verify ${scenarios})
  target_link_libraries(weft_verify PRIVATE weft_test_main weft_explored weft_warnings)
  foreach(file IN LISTS scenarios)
    get_filename_component(noun ${file} NAME_WE)
    string(REGEX REPLACE "_(test|scenario|scenarios)$" "" noun ${noun})
    weft_add_doctest(verify.${noun} weft_verify ${file} verify)
  endforeach()
endif()

# SPDX-License-Identifier: MIT
# weft_instrumented: the library with WEFT_VERIFY=1. Its inline namespace has another name, so that mixing it with the
# plain library does not link. weft_explorer: verify/explorer. weft_verify: the program with all scenarios.
weft_library(weft_instrumented STATIC)
target_compile_definitions(weft_instrumented PUBLIC WEFT_VERIFY=1 v0=v0_verify)
target_include_directories(weft_instrumented PUBLIC ${PROJECT_SOURCE_DIR}/verify)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/verify/explorer/*.cpp)
add_library(weft_explorer STATIC ${sources})
target_include_directories(weft_explorer PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(weft_explorer PUBLIC weft_instrumented PRIVATE weft_warnings)
target_link_libraries(weft_instrumented PUBLIC weft_explorer)  # the seams call the explorer's hooks

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/verify/*.cpp ${PROJECT_SOURCE_DIR}/verify/scenarios/*.cpp)
add_executable(weft_verify ${sources})
target_link_libraries(weft_verify PRIVATE weft_explorer weft_warnings)

# One ctest per scenario file: `verify.deque` runs what verify/scenarios/deque.cpp registers.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/verify/scenarios/*.cpp)
foreach(source IN LISTS sources)
  get_filename_component(group ${source} NAME_WE)
  add_test(NAME verify.${group} COMMAND weft_verify --group ${group})
  set_tests_properties(verify.${group} PROPERTIES LABELS verify TIMEOUT 600)
endforeach()

if(WEFT_BUILD_TESTS)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/verify/*_test.cpp)
  add_executable(weft_verify_tests ${PROJECT_SOURCE_DIR}/tests/main.cpp ${sources})
  target_include_directories(weft_verify_tests SYSTEM PRIVATE ${WEFT_THIRD_DIR})
  target_link_libraries(weft_verify_tests PRIVATE weft_explorer weft_warnings)
  foreach(source IN LISTS sources)
    get_filename_component(noun ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" noun ${noun})
    add_test(NAME verify.self.${noun} COMMAND weft_verify_tests --source-file=*/tests/verify/${noun}_test.cpp --no-intro)
    set_tests_properties(verify.self.${noun} PROPERTIES LABELS "verify;doctest" TIMEOUT 300)
  endforeach()
endif()

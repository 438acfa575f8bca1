# SPDX-License-Identifier: MIT
# weft_explored: the library once more with WEFT_VERIFY=1 (instrumented seams) and the explorer that drives it
# (verify/explorer/). Its inline namespace has another name, so that mixing it with the plain library does not link.
# weft_verify: the program with all scenarios; verify/scenarios/deque.cpp becomes the ctest verify.deque.
file(GLOB explorer CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/verify/explorer/*.cpp)
weft_library(weft_explored STATIC EXCLUDE_FROM_ALL)
set_target_properties(weft_explored PROPERTIES UNITY_BUILD ON)
target_sources(weft_explored PRIVATE ${explorer})
set_source_files_properties(${explorer} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_compile_definitions(weft_explored PUBLIC WEFT_VERIFY=1 v0=v0_verify)
target_include_directories(weft_explored PUBLIC ${PROJECT_SOURCE_DIR}/verify ${PROJECT_SOURCE_DIR}/src)

file(GLOB scenarios CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/verify/scenarios/*.cpp)
# Broken copies of the real headers, which the scenarios must find (verify/mutants.txt).
set(mutants ${PROJECT_BINARY_DIR}/mutants/mutants.hpp)
find_program(WEFT_PYTHON NAMES python3 REQUIRED)
add_custom_command(OUTPUT ${mutants}
  COMMAND ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/verify/mutate.py ${PROJECT_SOURCE_DIR}/verify/mutants.txt
          ${PROJECT_SOURCE_DIR} ${mutants} --depfile ${mutants}.d
  DEPENDS ${PROJECT_SOURCE_DIR}/verify/mutate.py ${PROJECT_SOURCE_DIR}/verify/mutants.txt DEPFILE ${mutants}.d VERBATIM)
add_executable(weft_verify ${PROJECT_SOURCE_DIR}/verify/main.cpp ${PROJECT_SOURCE_DIR}/verify/table.cpp ${scenarios} ${mutants})
target_include_directories(weft_verify PRIVATE ${PROJECT_BINARY_DIR}/mutants)
target_link_libraries(weft_verify PRIVATE weft_explored weft_warnings)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scenarios})
foreach(file IN LISTS scenarios)
  get_filename_component(group ${file} NAME_WE)
  # Only the mutants that it names are compiled with it.
  file(STRINGS ${file} lines REGEX "mutants::")
  string(REGEX MATCHALL "mutants::[a-z0-9_]+" names "${lines}")
  list(REMOVE_DUPLICATES names)
  list(TRANSFORM names REPLACE "mutants::" "WEFT_MUTANT_")
  list(TRANSFORM names APPEND "=1")
  set_source_files_properties(${file} PROPERTIES COMPILE_DEFINITIONS "${names}")
  add_test(NAME verify.${group} COMMAND weft_verify --group ${group})
  set_tests_properties(verify.${group} PROPERTIES LABELS verify TIMEOUT 300)
endforeach()

# Spin models of the protocols, with the mistakes that must not hold.
add_test(NAME verify.models COMMAND ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/verify/models/check.py)
set_tests_properties(verify.models PROPERTIES LABELS verify TIMEOUT 300)

# The explorer's own tests.
file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/verify/*_test.cpp)
add_executable(weft_verify_tests ${tests})
target_link_libraries(weft_verify_tests PRIVATE weft_test_main weft_explored weft_warnings)
foreach(file IN LISTS tests)
  get_filename_component(noun ${file} NAME_WE)
  string(REGEX REPLACE "_test$" "" noun ${noun})
  weft_add_doctest(verify.self.${noun} weft_verify_tests ${file} verify)
endforeach()
add_test(NAME verify.self.mutate COMMAND ${WEFT_PYTHON} -m unittest discover -s ${PROJECT_SOURCE_DIR}/tests/verify -p "*_test.py")
set_tests_properties(verify.self.mutate PROPERTIES LABELS verify TIMEOUT 60)
# As many scenarios per area as are promised.
add_test(NAME verify.table COMMAND weft_verify --table)
set_tests_properties(verify.table PROPERTIES LABELS verify)
# Exit codes of the program: 2 for a call that makes no sense, and says what.
add_test(NAME verify.self.usage COMMAND weft_verify --mode backwards)
set_tests_properties(verify.self.usage PROPERTIES LABELS verify PASS_REGULAR_EXPRESSION "'--mode' is unknown or does not take 'backwards'")
add_test(NAME verify.self.replay COMMAND weft_verify --replay "mutant: spin lock looks, then takes@ab3a")
set_tests_properties(verify.self.replay PROPERTIES LABELS verify PASS_REGULAR_EXPRESSION "data race: .*found by execution 1\n")

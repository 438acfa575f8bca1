# SPDX-License-Identifier: MIT
# The program in README.md is compiled and run: what the page shows is what happens.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
file(READ ${PROJECT_SOURCE_DIR}/README.md page)
string(FIND "${page}" "```cpp\n" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "README.md has no ```cpp block")
endif()
math(EXPR begin "${begin} + 7")
string(SUBSTRING "${page}" ${begin} -1 page)
string(FIND "${page}" "```" length)
string(SUBSTRING "${page}" 0 ${length} program)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/docs/readme.cpp CONTENT "${program}" @ONLY)
add_executable(weft_readme ${PROJECT_BINARY_DIR}/docs/readme.cpp)
target_link_libraries(weft_readme PRIVATE weft weft_warnings)
add_test(NAME doc.readme COMMAND weft_readme)
set_tests_properties(doc.readme PROPERTIES LABELS example TIMEOUT 60
  PASS_REGULAR_EXPRESSION "^\\|error\\| disk full\n42\n0\n1\n2\n42\n$")

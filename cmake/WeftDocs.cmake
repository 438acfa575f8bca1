# SPDX-License-Identifier: MIT
# The code in README.md and in docs/book/ is compiled and run: what a page shows is what happens. One program and one
# ctest for each page; tools/docs/page.py says how blocks are marked.
find_program(WEFT_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(WEFT_PYTHON NAMES python3 REQUIRED)
set(page_script ${PROJECT_SOURCE_DIR}/tools/docs/page.py)
set(page_flags "")
if(WEFT_SANITIZE)
  set(page_flags --sanitized)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING)
  set(page_flags --frames)
endif()
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/book/*.md)
list(FILTER pages EXCLUDE REGEX "/README\\.md$")
foreach(page IN LISTS pages ITEMS ${PROJECT_SOURCE_DIR}/README.md)
  get_filename_component(name ${page} NAME_WE)
  string(TOLOWER ${name} name)
  set(program ${PROJECT_BINARY_DIR}/docs/${name}.cpp)
  add_custom_command(OUTPUT ${program} COMMAND ${WEFT_PYTHON} ${page_script} extract ${page} ${program}
    DEPENDS ${page} ${page_script} COMMENT "doc: ${name}" VERBATIM)
  add_executable(weft_doc_${name} ${program})
  set_target_properties(weft_doc_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/docs)
  target_link_libraries(weft_doc_${name} PRIVATE weft weft_warnings)
  add_test(NAME doc.${name} COMMAND ${WEFT_PYTHON} ${page_script} run ${page_flags} ${page} $<TARGET_FILE:weft_doc_${name}>
    ${CMAKE_CROSSCOMPILING_EMULATOR})
  set_tests_properties(doc.${name} PROPERTIES LABELS example TIMEOUT 300)
endforeach()
add_test(NAME doc.contents COMMAND ${WEFT_PYTHON} ${page_script} book ${PROJECT_SOURCE_DIR}/docs/book)
set_tests_properties(doc.contents PROPERTIES LABELS house)

# SPDX-License-Identifier: MIT
# tests/programs/NAME.cpp is a small program that tests of the fiber floor start as a child process, or a ctest of its
# own. They are built next to the tests, into programs/ of the build folder.
set(WEFT_PROGRAM_DIR ${PROJECT_BINARY_DIR}/programs)
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/programs/*.cpp)
add_custom_target(test_programs)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  set(target program_${name})
  add_executable(${target} ${file})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${WEFT_PROGRAM_DIR})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE weft weft_warnings)
  add_dependencies(test_programs ${target})
endforeach()

set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/programs/unprobed.cpp PROPERTIES
  COMPILE_OPTIONS -fno-stack-clash-protection)

list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
target_compile_definitions(weft_fiber_tests PRIVATE
  WEFT_TEST_PROGRAMS="${WEFT_PROGRAM_DIR}" WEFT_TEST_EMULATOR="${emulator}" WEFT_TEST_LIBRARY="$<TARGET_FILE:weft>")
add_dependencies(weft_fiber_tests test_programs)

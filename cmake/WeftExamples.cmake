# SPDX-License-Identifier: MIT
# examples/NN_name.cpp is a program; its standard output must be examples/NN_name.expected, byte for byte.
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
add_custom_target(examples)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  set(target example_${name})
  add_executable(${target} ${file})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  target_link_libraries(${target} PRIVATE weft weft_warnings)
  add_dependencies(examples ${target})
  add_test(NAME example.${name}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${target}>" "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
            -DEXPECTED=${PROJECT_SOURCE_DIR}/examples/${name}.expected -P ${PROJECT_SOURCE_DIR}/cmake/run_example.cmake)
  set_tests_properties(example.${name} PROPERTIES LABELS example TIMEOUT 120)
endforeach()

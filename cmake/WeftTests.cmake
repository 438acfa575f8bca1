# SPDX-License-Identifier: MIT
# One program per floor, one ctest per file: `base.deque` runs the cases of tests/base/deque_test.cpp.

# Prints the files among `files` that may be built here: property tests need librapidcheck for the target machine.
function(weft_buildable_tests out)
  set(kept "")
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} uses REGEX "#include [<\"]rapidcheck")
    if(uses AND NOT rapidcheck_FOUND)
      message(STATUS "left out, no librapidcheck for this machine: ${file}")
    else()
      list(APPEND kept ${file})
    endif()
  endforeach()
  set(${out} ${kept} PARENT_SCOPE)
endfunction()

add_custom_target(tests_only)
foreach(floor IN LISTS WEFT_FLOORS)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${floor}/*_test.cpp)
  weft_buildable_tests(files ${files})
  if(NOT files)
    continue()
  endif()
  set(target weft_${floor}_tests)
  add_executable(${target} ${files})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE weft_test_main weft weft_warnings)
  if(rapidcheck_FOUND)
    target_link_libraries(${target} PRIVATE rapidcheck)
  endif()
  add_dependencies(tests_only ${target})
  foreach(file IN LISTS files)
    get_filename_component(noun ${file} NAME_WE)
    string(REGEX REPLACE "_test$" "" noun ${noun})
    weft_add_doctest(${floor}.${noun} ${target} ${file} unit)
  endforeach()
endforeach()

include(WeftPrograms)

# Outside projects that use the library as installed, as a subdirectory, through pkg-config, and shared.
if(CMAKE_CROSSCOMPILING OR WEFT_SANITIZE OR WEFT_COVERAGE OR NOT WEFT_INSTALL)
  return()
endif()
foreach(kind find_package subdirectory pkg_config shared)
  set(name "consumer.${kind} [N-080]")
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND} -DKIND=${kind} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
            -DCOMPILER=${CMAKE_CXX_COMPILER} -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -DJOBS=${WEFT_CORES}
            -P ${PROJECT_SOURCE_DIR}/tests/consumers/run.cmake)
  set_tests_properties(${name} PROPERTIES LABELS consumer TIMEOUT 900 PROCESSORS ${WEFT_CORES})
endforeach()

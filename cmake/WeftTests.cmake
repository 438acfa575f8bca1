# SPDX-License-Identifier: MIT
# One program per floor, one ctest per file: `base.deque` runs the cases of tests/base/deque_test.cpp.

if(NOT CMAKE_CROSSCOMPILING)
  find_path(WEFT_ASIO_INCLUDE asio.hpp)
  find_path(WEFT_BOOST_ASIO_INCLUDE boost/asio.hpp)
endif()

# Prints the files among `files` that may be built here: property tests need librapidcheck for the target machine, the
# tests of the bridges what they lead to.
function(weft_buildable_tests out)
  set(kept "")
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} uses REGEX "#include [<\"]rapidcheck")
    file(STRINGS ${file} asio REGEX "#include <asio\\.hpp>")
    file(STRINGS ${file} boost_asio REGEX "#include <boost/asio\\.hpp>")
    if(asio OR boost_asio)
      # g++ 12 fears for Asio's pointers, through the system header.
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS -Wno-null-dereference)
    endif()
    if(uses AND NOT rapidcheck_FOUND)
      message(STATUS "left out, no librapidcheck for this machine: ${file}")
    elseif((asio AND NOT WEFT_ASIO_INCLUDE) OR (boost_asio AND NOT WEFT_BOOST_ASIO_INCLUDE))
      message(STATUS "left out, no Asio for this machine: ${file}")
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
  if(NOT files OR (floor STREQUAL "tls" AND NOT WEFT_HAS_TLS))
    continue()
  endif()
  set(target weft_${floor}_tests)
  add_executable(${target} ${files})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE weft_test_main weft weft_warnings)
  if(rapidcheck_FOUND)
    target_link_libraries(${target} PRIVATE rapidcheck)
  endif()
  if(floor STREQUAL "tls")
    target_link_libraries(${target} PRIVATE weft_tls OpenSSL::SSL OpenSSL::Crypto)
  endif()
  add_dependencies(tests_only ${target})
  foreach(file IN LISTS files)
    get_filename_component(noun ${file} NAME_WE)
    string(REGEX REPLACE "_test$" "" noun ${noun})
    weft_add_doctest(${floor}.${noun} ${target} ${file} unit)
  endforeach()
endforeach()

# The replicated log of the examples is tried with more seeds there.
target_include_directories(weft_sim_tests PRIVATE ${PROJECT_SOURCE_DIR}/examples)

# tests/stress/NAME.cpp: a storm, five seconds of each kind, and ten minutes of all of them with --full;
# `NAME --seconds N --seed N` runs longer, or again.
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/stress/*.cpp)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  add_executable(${name} ${file})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE weft weft_warnings)
  add_dependencies(tests_only ${name})
  file(STRINGS ${file} kinds REGEX "--kind [a-z|]+")
  list(GET kinds 0 kinds)
  string(REGEX REPLACE ".*--kind ([a-z|]+).*" "\\1" kinds "${kinds}")
  string(REPLACE "|" ";" kinds "${kinds}")
  list(REMOVE_ITEM kinds all)
  foreach(kind IN LISTS kinds)
    add_test(NAME stress.${name}.${kind} COMMAND ${name} --kind ${kind} --seconds 5)
    set_tests_properties(stress.${name}.${kind} PROPERTIES LABELS unit TIMEOUT 300)
  endforeach()
  list(LENGTH kinds count)
  math(EXPR seconds "600 / ${count}")
  add_test(NAME full.stress.${name} COMMAND ${name} --kind all --seconds ${seconds} --workers 8)
  set_tests_properties(full.stress.${name} PROPERTIES LABELS "full;minutes" TIMEOUT 1800)
endforeach()

include(WeftPrograms)
include(WeftMatrix)

# Outside projects that use the library as installed, as a subdirectory, through pkg-config, and shared.
if(CMAKE_CROSSCOMPILING OR WEFT_SANITIZE OR WEFT_COVERAGE OR NOT WEFT_INSTALL)
  return()
endif()
foreach(kind find_package subdirectory pkg_config shared)
  set(name "consumer.${kind} [N-080]")
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND} -DKIND=${kind} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
            -DCOMPILER=${CMAKE_CXX_COMPILER} -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -DJOBS=${WEFT_CORES}
            -DTLS=${WEFT_HAS_TLS}
            -P ${PROJECT_SOURCE_DIR}/tests/consumers/run.cmake)
  set_tests_properties(${name} PROPERTIES LABELS consumer TIMEOUT 900 PROCESSORS ${WEFT_CORES})
endforeach()
find_program(WEFT_CLANGXX NAMES clang++-19)
if(WEFT_CLANGXX AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set_tests_properties("consumer.shared [N-080]" PROPERTIES FIXTURES_SETUP shared_library)
  set(name "example.by_another_compiler [X-036]")
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND} -DCOMPILER=${WEFT_CLANGXX} -DSTAGE=${PROJECT_BINARY_DIR}/consumers/shared/stage
            -DSOURCE=${PROJECT_SOURCE_DIR} -DWORK=${PROJECT_BINARY_DIR}/golden -P ${PROJECT_SOURCE_DIR}/cmake/golden.cmake)
  set_tests_properties(${name} PROPERTIES LABELS example TIMEOUT 300 FIXTURES_REQUIRED shared_library)
endif()

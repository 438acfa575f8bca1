# SPDX-License-Identifier: MIT
# tests/programs/NAME.cpp is a small program that tests of the fiber, sched, wait and task floors start as a child process, or a ctest of its
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
# A header instead of definitions: a path on the command line of every test would keep compilers' caches from being shared
# between checkouts.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/places/test_places.hpp CONTENT
"#pragma once
#define WEFT_TEST_SOURCE \"${PROJECT_SOURCE_DIR}\"
#define WEFT_TEST_PROGRAMS \"${WEFT_PROGRAM_DIR}\"
#define WEFT_TEST_EMULATOR \"${emulator}\"
#define WEFT_TEST_LIBRARY \"$<TARGET_FILE:weft>\"
")
foreach(floor fiber sched wait task io sim)
  target_include_directories(weft_${floor}_tests PRIVATE ${PROJECT_BINARY_DIR}/places)
  add_dependencies(weft_${floor}_tests test_programs)
endforeach()

if(CMAKE_CROSSCOMPILING OR WEFT_SANITIZE OR WEFT_COVERAGE)
  return()
endif()

# What WEFT_TRACE writes.
find_program(WEFT_PYTHON NAMES python3 REQUIRED)
add_test(NAME "trace [N-071]" COMMAND ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/programs/trace_check.py
                                      $<TARGET_FILE:program_traced>)
set_tests_properties("trace [N-071]" PROPERTIES LABELS unit TIMEOUT 120)
find_program(WEFT_VALGRIND NAMES valgrind)
if(WEFT_VALGRIND)
  add_test(NAME "trace.off_cost [N-071]" COMMAND ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/programs/trace_cost.py
                                                 $<TARGET_FILE:program_untraced> ${PROJECT_SOURCE_DIR})
  set_tests_properties("trace.off_cost [N-071]" PROPERTIES LABELS full TIMEOUT 600)
endif()

# Input and output where the system gives less: io_uring refused, as in many containers, one CPU, little address space
# (each worker's stack and each slab of fiber stacks reserve some; ten thousand tasks of one test need 3 GB).
find_program(WEFT_TASKSET NAMES taskset REQUIRED)
find_program(WEFT_PRLIMIT NAMES prlimit REQUIRED)
function(weft_narrow_test name program)
  add_test(NAME "${name} [N-091]" COMMAND ${ARGN} $<TARGET_FILE:${program}> --no-intro)
  set_tests_properties("${name} [N-091]" PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()
foreach(floor io net)
  weft_narrow_test("${floor}.without_uring [N-056]" weft_${floor}_tests program_refusing io_uring EPERM)
  weft_narrow_test("${floor}.unknown_uring [N-056]" weft_${floor}_tests program_refusing io_uring ENOSYS)
  set_property(TEST "${floor}.unknown_uring [N-056] [N-091]" PROPERTY LABELS full)
  weft_narrow_test("${floor}.on_one_cpu" weft_${floor}_tests ${WEFT_TASKSET} -c 0)
  weft_narrow_test("${floor}.in_little_space" weft_${floor}_tests ${WEFT_PRLIMIT} --as=4294967296)
endforeach()
if(TARGET weft_tls_tests)
  weft_narrow_test("tls.without_uring [N-056]" weft_tls_tests program_refusing io_uring EPERM)
endif()
set(name "foreign_loop.without_uring [N-056] [N-091]")
add_test(NAME ${name}
  COMMAND program_refusing io_uring EPERM $<TARGET_FILE:weft_sched_tests> --source-file=*/foreign_loop_test.cpp --no-intro)
set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)

# Whole runtimes where membarrier is refused: fences are real on both sides, and no worker takes the short ways.
foreach(floor task sched)
  weft_narrow_test("${floor}.without_membarrier [B46]" weft_${floor}_tests program_refusing membarrier EPERM)
  weft_narrow_test("${floor}.unknown_membarrier [B46]" weft_${floor}_tests program_refusing membarrier ENOSYS)
  set_property(TEST "${floor}.without_membarrier [B46] [N-091]" PROPERTY ENVIRONMENT WEFT_SPEC_ASSERT=0)
  set_property(TEST "${floor}.unknown_membarrier [B46] [N-091]" PROPERTY LABELS full)
endforeach()

# The io suite where every task goes on on another worker than the one that it waited on. With two workers of which one
# computes for ever there is no other: that case is left out.
add_test(NAME "io.migration_check [B36]" COMMAND weft_io_tests --no-intro --test-case-exclude=*only\ computes*)
set_tests_properties("io.migration_check [B36]" PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT WEFT_MIGRATION_CHECK=1)

# weft_full_test(FLOOR FILE): the cases of a file once more, at the size and with the times that ./dev test --full asks for.
function(weft_full_test floor noun)
  set(name full.${floor}.${noun})
  add_test(NAME ${name} COMMAND weft_${floor}_tests --source-file=*/tests/${floor}/${noun}_test.cpp --no-intro)
  set_tests_properties(${name} PROPERTIES LABELS full TIMEOUT 1200 ENVIRONMENT WEFT_TEST_FULL=1 RUN_SERIAL ON)
endfunction()
weft_full_test(fiber million)
weft_full_test(fiber stack)
weft_full_test(sched sysmon)
weft_full_test(sched elastic)
weft_full_test(sched cores)
weft_full_test(io os_signals)
weft_full_test(sched blocking)

function(weft_variant name program compiler flags)
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=${program} -DFLAGS=${flags} -DCOMPILER=${compiler} -DLIBRARIES=${ARGN}
            -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -DSOURCE=${PROJECT_SOURCE_DIR}
            -DBUILD=${PROJECT_BINARY_DIR}/variants/${name} -P ${PROJECT_SOURCE_DIR}/tests/programs/variant/run.cmake)
  set_tests_properties(${name} PROPERTIES LABELS full TIMEOUT 1200)
endfunction()

# No address of a thread's own things survives a migration, whatever the optimiser does [N-007, B24].
find_program(WEFT_OTHER_CLANGXX NAMES clang++-19)
foreach(compiler g++ ${WEFT_OTHER_CLANGXX})
  get_filename_component(short ${compiler} NAME)
  weft_variant(migration.${short}.O0 migration ${compiler} "-O0")
  weft_variant(migration.${short}.O2.pic migration ${compiler} "-O2 -fPIC")
  weft_variant(migration.${short}.O3 migration ${compiler} "-O3 -fno-pic -no-pie")
  weft_variant(migration.${short}.O3.pic migration ${compiler} "-O3 -fPIC")
endforeach()
weft_variant(migration.g++.O3.pic.lto migration g++ "-O3 -fPIC -flto")
# The fallback for machines without assembly of our own.
weft_variant(boost_context verbs g++ "-O2 -DWEFT_CONTEXT_BOOST=1" boost_context)

# SPDX-License-Identifier: MIT
# gdb at a breakpoint inside a fiber: the frames of the fiber, and a clean end of the stack.
find_program(WEFT_GDB gdb)
if(NOT WEFT_GDB OR CMAKE_CROSSCOMPILING OR WEFT_SANITIZE OR WEFT_COVERAGE)
  return()
endif()
add_executable(weft_gdb_nested ${PROJECT_SOURCE_DIR}/tests/gdb/nested.cpp)
target_link_libraries(weft_gdb_nested PRIVATE weft weft_warnings)
function(weft_gdb_test name breakpoint expected)
  add_test(NAME gdb.${name}
    COMMAND ${WEFT_GDB} -batch -nx -ex "set debuginfod enabled off" -ex "break ${breakpoint}" -ex run -ex bt
            $<TARGET_FILE:weft_gdb_nested>)
  set_tests_properties(gdb.${name} PROPERTIES LABELS full TIMEOUT 120 PASS_REGULAR_EXPRESSION "${expected}"
    FAIL_REGULAR_EXPRESSION "Backtrace stopped;corrupt stack;Cannot access memory;No symbol")
endfunction()
weft_gdb_test(backtrace_inside_a_fiber stop_in_fiber "#0 [^\n]*stop_in_fiber[^\n]*\n#1 [^\n]*inner_body.*weft_fiber_entry")
weft_gdb_test(backtrace_after_fibers stop_in_main "#0 [^\n]*stop_in_main[^\n]*\n#1 [^\n]* main ")

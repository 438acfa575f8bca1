# SPDX-License-Identifier: MIT
# The main() that test programs and explorer scenarios share, and how their files become ctests.
add_library(weft_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cpp)
target_compile_features(weft_test_main PUBLIC cxx_std_23)
target_include_directories(weft_test_main SYSTEM PUBLIC ${WEFT_THIRD_DIR})
target_link_libraries(weft_test_main PUBLIC weft_instrumented PRIVATE weft_warnings)

# weft_add_doctest(NAME PROGRAM FILE LABEL): a ctest that runs the cases of one source file.
function(weft_add_doctest name program file label)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
  add_test(NAME ${name} COMMAND ${program} --source-file=*/${path} --no-intro)
  set_tests_properties(${name} PROPERTIES LABELS "${label};doctest" TIMEOUT 300)
endfunction()

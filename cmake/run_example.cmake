# SPDX-License-Identifier: MIT
# Runs PROGRAM and compares what it prints with the file EXPECTED.
if(NOT EXISTS ${EXPECTED})
  message(FATAL_ERROR "${EXPECTED} is missing: every example has its expected output beside it")
endif()
execute_process(COMMAND ${EMULATOR} ${PROGRAM} OUTPUT_VARIABLE got ERROR_VARIABLE err RESULT_VARIABLE code)
file(READ ${EXPECTED} want)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "the example ended with '${code}'\n--- stdout\n${got}\n--- stderr\n${err}")
endif()
if(NOT got STREQUAL want)
  message(FATAL_ERROR "the output is not the expected one\n--- expected (${EXPECTED})\n${want}\n--- got\n${got}\n--- end")
endif()

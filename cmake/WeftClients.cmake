# SPDX-License-Identifier: MIT
# The HTTP example as a program, under real clients: curl always, wrk for minutes with --full.
if(CMAKE_CROSSCOMPILING OR WEFT_SANITIZE OR WEFT_COVERAGE)
  return()
endif()
find_program(WEFT_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(WEFT_PYTHON NAMES python3 REQUIRED)
set(clients ${PROJECT_SOURCE_DIR}/tests/net/clients)

find_program(WEFT_CURL curl)
if(WEFT_CURL)
  add_test(NAME net.clients.curl COMMAND ${WEFT_PYTHON} ${clients}/curl_test.py $<TARGET_FILE:example_15_http_server>)
  set_tests_properties(net.clients.curl PROPERTIES LABELS unit TIMEOUT 120)
endif()

set(WEFT_LOAD_MINUTES 10 CACHE STRING "How long the load test of ./dev test --full lasts, on each engine")
foreach(engine epoll uring)
  add_test(NAME full.net.load.${engine}
    COMMAND ${WEFT_PYTHON} ${clients}/load.py $<TARGET_FILE:example_15_http_server> --engine ${engine}
            --minutes ${WEFT_LOAD_MINUTES})
  set_tests_properties(full.net.load.${engine} PROPERTIES LABELS "full;minutes" TIMEOUT 3600 RUN_SERIAL ON
    SKIP_RETURN_CODE 77)
endforeach()

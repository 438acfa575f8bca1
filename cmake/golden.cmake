# SPDX-License-Identifier: MIT
# Examples once more by another compiler, optimised, against the shared release library that consumer.shared has built:
# they print the same bytes. Takes COMPILER, STAGE (that library as installed), SOURCE (ours), WORK, JOBS.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
file(GLOB library ${STAGE}/lib*/libweft.so ${STAGE}/lib/*/libweft.so)
if(NOT library)
  message(FATAL_ERROR "no shared library below ${STAGE}: consumer.shared has to run first")
endif()
list(GET library 0 library)
get_filename_component(folder ${library} DIRECTORY)
foreach(name 01_signals 03_generators 07_nurseries 10_select 13_futures)
  execute_process(COMMAND ${COMPILER} -std=c++23 -O2 -DNDEBUG -I${STAGE}/include ${SOURCE}/examples/${name}.cpp
                          -o ${WORK}/${name} ${library} -Wl,-rpath,${folder} -pthread
                  RESULT_VARIABLE code ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${name} does not compile with ${COMPILER}\n${text}")
  endif()
  set(PROGRAM ${WORK}/${name})
  set(EXPECTED ${SOURCE}/examples/${name}.expected)
  include(${SOURCE}/cmake/run_example.cmake)
endforeach()

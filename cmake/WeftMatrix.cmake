# SPDX-License-Identifier: MIT
# The tests of whole runtimes once more, under every number of workers and both policies, and where the policy steals
# without the checks of a debug build: so by the short ways, which is what a user's program takes. What a runtime of theirs
# leaves open is decided by the variables; tests that go through numbers or universes by themselves take those of the run
# (tests/sched/worker_counts.hpp); those that say their number on purpose keep it, and get the policy.
if(CMAKE_CROSSCOMPILING OR WEFT_SANITIZE OR WEFT_COVERAGE)
  return()
endif()

# Where one worker or eight steal, children do not run in place: each is queued, and taken from there.
function(weft_matrix_test floor workers policy label)
  set(name "matrix.${floor}.${workers}.${policy} [N-018]")
  add_test(NAME ${name} COMMAND weft_${floor}_tests --no-intro)
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 600
    ENVIRONMENT "WEFT_WORKERS=${workers};WEFT_POLICY=${policy};WEFT_SPEC_ASSERT=$<IF:$<STREQUAL:${policy},steal>,0,1>")
  if(policy STREQUAL "steal" AND (workers EQUAL 1 OR workers EQUAL 8))
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT WEFT_IN_PLACE=0)
  endif()
endfunction()
# What is quick in ./dev test, the rest with --full. The tests of sched take longest and mostly say their numbers.
foreach(workers 1 2 4 8)
  foreach(policy steal global)
    foreach(floor task wait)
      weft_matrix_test(${floor} ${workers} ${policy} unit)
    endforeach()
    if((workers EQUAL 4 AND policy STREQUAL "global") OR (workers EQUAL 2 AND policy STREQUAL "steal"))
      weft_matrix_test(sched ${workers} ${policy} unit)
    else()
      weft_matrix_test(sched ${workers} ${policy} full)
    endif()
  endforeach()
endforeach()

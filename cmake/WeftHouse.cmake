# SPDX-License-Identifier: MIT
# The house checks: rules about the source itself. Each is a ctest; the compiling ones are build targets with real
# dependencies behind it, so that only what changed is looked at again.
find_program(WEFT_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(WEFT_PYTHON NAMES python3 REQUIRED)
find_program(WEFT_CLANGXX NAMES clang++-19)
find_program(WEFT_CLANG_TIDY NAMES clang-tidy-19)
find_program(WEFT_CLANG_FORMAT NAMES clang-format-19)

function(weft_house_test name)
  add_test(NAME house.${name} COMMAND ${ARGN})
  set_tests_properties(house.${name} PROPERTIES LABELS house TIMEOUT 1500)
endfunction()

foreach(check layers words spdx links)
  weft_house_test(${check} ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/tools/house/${check}.py)
endforeach()
# The memory-order table and the reasons for what is relaxed are promises of the table of requirements, too.
add_test(NAME "orders [W-118] [W-119]" COMMAND ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/tools/house/orders.py)
set_tests_properties("orders [W-118] [W-119]" PROPERTIES LABELS unit)
add_test(NAME "one way [X-031]" COMMAND ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/tools/house/one_way.py)
add_test(NAME "reviews [X-037]" COMMAND ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/tools/house/reviews.py)
set_tests_properties("one way [X-031]" "reviews [X-037]" PROPERTIES LABELS unit)
weft_house_test(checks_catch_planted_faults ${WEFT_PYTHON} -m unittest discover -s ${PROJECT_SOURCE_DIR}/tests/house -p "*_test.py")
if(WEFT_CLANG_FORMAT)
  weft_house_test(format ${PROJECT_SOURCE_DIR}/dev format --check)
endif()

if(NOT BUILD_SHARED_LIBS AND NOT CMAKE_CROSSCOMPILING)
  weft_house_test(objects ${WEFT_PYTHON} ${PROJECT_SOURCE_DIR}/tools/house/objects.py $<TARGET_FILE:weft>)
endif()

if(CMAKE_CROSSCOMPILING OR WEFT_SANITIZE OR WEFT_COVERAGE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()  # the rest looks at the source with both compilers; once, in the plain build, is enough
endif()

set(house_dir ${PROJECT_BINARY_DIR}/house)
set(house_flags -std=c++23 -fsyntax-only -O1 -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
    -isystem${WEFT_THIRD_DIR} -DWEFT_HAS_BACKTRACE=$<BOOL:${WEFT_HAS_BACKTRACE}> ${WEFT_PUBLIC_FLAGS}
    ${WEFT_PRIVATE_FLAGS} ${WEFT_WARNING_FLAGS} -Werror)
list(JOIN house_flags "\n" text)
list(JOIN WEFT_GCC_WARNING_FLAGS "\n" gcc_text)
list(JOIN WEFT_CLANG_WARNING_FLAGS "\n" clang_text)
file(GENERATE OUTPUT ${house_dir}/gcc.flags CONTENT "${text}\n${gcc_text}\n")
file(GENERATE OUTPUT ${house_dir}/clang.flags CONTENT "${text}\n${clang_text}\n-Wno-unused-command-line-argument\n")
set(house_gcc ${CMAKE_CXX_COMPILER} @${house_dir}/gcc.flags)
set(house_clang ${WEFT_CLANGXX} @${house_dir}/clang.flags)

# Appends to `out` a stamp that stands for: `file` was accepted by `compiler` (a list), and then by `then` (ARGN).
function(weft_accept out id file compiler)
  set(stamp ${house_dir}/${id}.ok)
  set(then "")
  if(ARGN)
    set(then COMMAND ${ARGN})
  endif()
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${compiler} -MD -MF ${stamp}.d -MT ${stamp} ${file}
    ${then}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/.clang-tidy DEPFILE ${stamp}.d COMMENT "house: ${id}" VERBATIM COMMAND_EXPAND_LISTS)
  set(${out} ${${out}} ${stamp} PARENT_SCOPE)
endfunction()

# The same for what clang has accepted already: only `then`, once more whenever that is accepted anew.
function(weft_accept_after out id before)
  set(stamp ${house_dir}/${id}.ok)
  add_custom_command(OUTPUT ${stamp} COMMAND ${ARGN} COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${house_dir}/${before}.ok ${PROJECT_SOURCE_DIR}/.clang-tidy COMMENT "house: ${id}" VERBATIM COMMAND_EXPAND_LISTS)
  set(${out} ${${out}} ${stamp} PARENT_SCOPE)
endfunction()

# A header stands on its own if a file that holds nothing but it, twice, compiles.
set(headers_gcc "")
set(headers_clang "")
set(tidy "")
set(analyzed "")
set(clang "")
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.hpp ${PROJECT_SOURCE_DIR}/src/*.hpp)
if(NOT WEFT_HAS_TLS)
  list(FILTER headers EXCLUDE REGEX "/src/tls/")  # they need OpenSSL's
endif()
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^.*/(include|src)/" "" name ${header})
  string(REPLACE "/" "." id ${name})
  set(alone ${house_dir}/alone/${id}.cpp)
  file(CONFIGURE OUTPUT ${alone} CONTENT "#include \"${name}\"\n#include \"${name}\"\n")
  weft_accept(headers_gcc gcc/${id} ${alone} "${house_gcc}")
  if(WEFT_CLANGXX AND header MATCHES "/include/weft/[a-z0-9_]+\\.hpp$")
    weft_accept(headers_clang clang/${id} ${alone} "${house_clang}")
  endif()
endforeach()
# Sources are looked at by floor, a dozen in one translation unit: clang-tidy spends its time on the headers, which are
# the same for all of them. So two files of a floor do not use one name for two things.
if(WEFT_TLS_SOURCES)
  list(APPEND WEFT_UNITS tls.1)
  set(WEFT_UNIT_tls.1 ${WEFT_TLS_SOURCES})
endif()
if(NOT WEFT_CLANGXX)
  set(WEFT_UNITS "")
endif()
foreach(id IN LISTS WEFT_UNITS)
  set(text "")
  foreach(file IN LISTS WEFT_UNIT_${id})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src ${file})
    string(APPEND text "#include \"${name}\"  // NOLINT(bugprone-suspicious-include)\n")
  endforeach()
  set(together ${house_dir}/together/${id}.cpp)
  file(CONFIGURE OUTPUT ${together} CONTENT "${text}" @ONLY)
  weft_accept(clang clang/${id} ${together} "${house_clang}")
  if(WEFT_CLANG_TIDY)
    set(tidy_command ${PROJECT_SOURCE_DIR}/tools/house/tidy.sh ${WEFT_CLANG_TIDY} ${together} ${house_dir}/clang.flags)
    weft_accept_after(tidy tidy/${id} clang/${id} ${tidy_command} --checks=-clang-analyzer-*)
    # Two thirds of clang-tidy's time is the analyzer's: for ./dev lint and ./dev test --full. Padding: ours is by intent,
    # what one thread writes lies on another cache line than what others read.
    weft_accept_after(analyzed analyzed/${id} clang/${id} ${tidy_command}
                      --checks=-*,clang-analyzer-*,-clang-analyzer-core.FixedAddressDereference,-clang-analyzer-optin.performance.Padding)
  endif()
endforeach()

function(weft_house_build_test name)
  add_custom_target(house_${name} DEPENDS ${ARGN})
  weft_house_test(${name} ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target house_${name} -j ${WEFT_CORES} -- -k 0)
  set_tests_properties(house.${name} PROPERTIES RESOURCE_LOCK ninja PROCESSORS ${WEFT_CORES})
endfunction()
weft_house_build_test(headers_alone_gcc ${headers_gcc})
if(WEFT_CLANGXX)
  # A header that does not stand alone is found by either compiler: the second look is for lint and --full.
  set_tests_properties(house.headers_alone_gcc PROPERTIES LABELS "house;full")
endif()
if(WEFT_CLANGXX)
  weft_house_build_test(headers_alone_clang ${headers_clang})
  weft_house_build_test(clang_warnings ${clang})
  if(WEFT_CLANG_TIDY)
    weft_house_build_test(tidy ${tidy})
    set_tests_properties(house.tidy PROPERTIES LABELS "house;tidy")
    weft_house_build_test(analyzed ${analyzed})
    set_tests_properties(house.analyzed PROPERTIES LABELS "house;full")
  endif()
endif()

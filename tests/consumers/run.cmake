# SPDX-License-Identifier: MIT
# Builds one outside project against weft and runs it. Takes KIND, SOURCE (ours), BUILD (ours), COMPILER, LAUNCHER, JOBS,
# TLS (whether ours was built with it).
# The kind `shared` is find_package of the shared library, compiled as a release.
set(work ${BUILD}/consumers/${KIND})
set(stage ${work}/stage)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "'${ARGN}' ended with ${code}\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

if(KIND STREQUAL "shared")
  step(${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/shared -G Ninja -DBUILD_SHARED_LIBS=ON -DWEFT_BUILD_TESTS=OFF -DWEFT_UNITY=ON
       -DWEFT_BUILD_EXAMPLES=OFF -DWEFT_WERROR=ON -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_INSTALL_PREFIX=${stage})
  step(${CMAKE_COMMAND} --build ${work}/shared -j ${JOBS})
  step(${CMAKE_COMMAND} --install ${work}/shared)
  set(project find_package)
else()
  step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${stage})
  set(project ${KIND})
endif()

# first_block(PAGE KIND VARIABLE): the first block of a page that opens so.
function(first_block page kind variable)
  file(READ ${SOURCE}/${page} text)
  set(mark "```${kind}\n")
  string(FIND "${text}" "${mark}" at)
  if(at LESS 0)
    message(FATAL_ERROR "${page} has no block ${mark}")
  endif()
  string(LENGTH "${mark}" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${text}" ${at} -1 text)
  string(FIND "${text}" "```" length)
  string(SUBSTRING "${text}" 0 ${length} text)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# The newcomer's path: the program of the readme, and the one that docs/book/start.md breaks, as somebody else's programs.
first_block(README.md "cpp" page)
set(readme ${work}/readme.cpp)
file(WRITE ${readme} "${page}")
first_block(README.md "text" promised)
set(broken "")
if(KIND STREQUAL "find_package")
  first_block(docs/book/start.md "cpp native frames" page)
  set(broken ${work}/broken.cpp)
  file(WRITE ${broken} "${page}")
endif()

if(KIND STREQUAL "pkg_config")
  file(GLOB_RECURSE file ${stage}/*/weft.pc)
  get_filename_component(folder ${file} DIRECTORY)
  step(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${CMAKE_CURRENT_LIST_DIR}/pkg_config/build.sh
       ${COMPILER} ${CMAKE_CURRENT_LIST_DIR}/main.cpp ${work}/consumer)
  step(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${CMAKE_CURRENT_LIST_DIR}/pkg_config/build.sh
       ${COMPILER} ${readme} ${work}/readme)
  if(TLS)
    step(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${CMAKE_CURRENT_LIST_DIR}/pkg_config/build.sh
         ${COMPILER} ${CMAKE_CURRENT_LIST_DIR}/tls_main.cpp ${work}/tls_consumer weft-tls)
  endif()
else()
  step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${project} -B ${work} -G Ninja -DWEFT_SOURCE=${SOURCE} -DWANT_TLS=${TLS} -DBROKEN=${broken}
       -DREADME=${readme}
       -DCMAKE_PREFIX_PATH=${stage} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
  step(${CMAKE_COMMAND} --build ${work} -j ${JOBS})
endif()
if(EXISTS ${work}/tls_consumer)
  step(${work}/tls_consumer)
  if(NOT text STREQUAL "no connection, no TLS\n")
    message(FATAL_ERROR "the consumer of TLS printed '${text}'")
  endif()
endif()
step(${work}/consumer)
if(NOT text STREQUAL "|error| disk full\nthrough two stacks\n")
  message(FATAL_ERROR "the consumer printed '${text}'")
endif()
step(${work}/readme)
if(NOT text STREQUAL promised)
  message(FATAL_ERROR "the program of the readme printed '${text}'")
endif()
if(broken)
  execute_process(COMMAND ${work}/broken RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE report)
  if(NOT code EQUAL 124 OR NOT text STREQUAL "1\n4\n9\n" OR
     NOT report MATCHES "deadlock: nothing can run any more; 1 task waits:\n  task 1 waits: recv .* spawned at .*broken.cpp:10\n")
    message(FATAL_ERROR "the program with a deadlock ended with ${code}, printed '${text}' and reported '${report}'")
  endif()
endif()

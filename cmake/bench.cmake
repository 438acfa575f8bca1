# SPDX-License-Identifier: MIT
# weft_bench: our measurements, with the peers' twins where Boost.Context is installed (1.81 is what we compare with).
if(NOT EXISTS ${PROJECT_SOURCE_DIR}/bench/main.cpp)
  return()
endif()

file(GLOB WEFT_BENCH_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp ${PROJECT_SOURCE_DIR}/bench/*/*.cpp)
find_library(WEFT_BOOST_CONTEXT boost_context)
find_path(WEFT_BOOST_INCLUDE boost/coroutine2/coroutine.hpp)
if(WEFT_BOOST_CONTEXT AND WEFT_BOOST_INCLUDE)
  set(WEFT_BENCH_BOOST TRUE)
  list(FILTER WEFT_BENCH_SOURCES EXCLUDE REGEX "/no_boost\\.cpp$")
else()
  set(WEFT_BENCH_BOOST FALSE)
  list(FILTER WEFT_BENCH_SOURCES EXCLUDE REGEX "/(coroutine2|context)_peer\\.cpp$")
endif()

find_package(TBB QUIET)
if(NOT TBB_FOUND)
  list(FILTER WEFT_BENCH_SOURCES EXCLUDE REGEX "/tbb_peer\\.cpp$")
endif()
find_program(WEFT_GO go)
if(WEFT_GO)
  set(weft_go_twin ${PROJECT_BINARY_DIR}/weft_bench_go)
  add_custom_command(
    OUTPUT ${weft_go_twin}
    COMMAND ${CMAKE_COMMAND} -E env GOCACHE=${PROJECT_BINARY_DIR}/go-cache GO111MODULE=off ${WEFT_GO} build -o
            ${weft_go_twin} ${PROJECT_SOURCE_DIR}/bench/peers/go/main.go
    DEPENDS ${PROJECT_SOURCE_DIR}/bench/peers/go/main.go)
else()
  list(FILTER WEFT_BENCH_SOURCES EXCLUDE REGEX "/go_peer\\.cpp$")
endif()

add_executable(weft_bench ${WEFT_BENCH_SOURCES})
if(TBB_FOUND)
  target_link_libraries(weft_bench PRIVATE TBB::tbb)
endif()
if(WEFT_GO)
  add_custom_target(weft_go_peer DEPENDS ${weft_go_twin})
  add_dependencies(weft_bench weft_go_peer)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/bench/go_peer.cpp PROPERTIES COMPILE_DEFINITIONS
                              "WEFT_BENCH_GO=\"${weft_go_twin}\"")
endif()
target_compile_features(weft_bench PRIVATE cxx_std_23)
target_include_directories(weft_bench PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(weft_bench PRIVATE weft)
if(TARGET weft_warnings)
  target_link_libraries(weft_bench PRIVATE $<BUILD_INTERFACE:weft_warnings>)
endif()
if(WEFT_BENCH_BOOST)
  target_compile_definitions(weft_bench PRIVATE WEFT_BENCH_BOOST=1)
  target_link_libraries(weft_bench PRIVATE ${WEFT_BOOST_CONTEXT})
  # Boost 1.81 leaves a state word unset on one path; g++ 12 sees it through the system header.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/bench/fiber/coroutine2_peer.cpp PROPERTIES COMPILE_OPTIONS
                              -Wno-maybe-uninitialized)
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" weft_bench_type)
string(JOIN " " weft_bench_flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${weft_bench_type}} ${WEFT_PUBLIC_FLAGS})
set_source_files_properties(${PROJECT_SOURCE_DIR}/bench/machine.cpp PROPERTIES COMPILE_DEFINITIONS
                            "WEFT_BENCH_FLAGS=\"${weft_bench_flags}\"")

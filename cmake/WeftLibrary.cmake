# SPDX-License-Identifier: MIT
set(globs "")
foreach(floor IN LISTS WEFT_FLOORS)
  if(floor STREQUAL "tls")
    continue()  # a library of its own: WeftTls
  endif()
  list(APPEND globs ${PROJECT_SOURCE_DIR}/src/${floor}/*.cpp ${PROJECT_SOURCE_DIR}/src/${floor}/*.S)
endforeach()
file(GLOB WEFT_SOURCES CONFIGURE_DEPENDS ${globs})
# Assembly names its machine in the file name: switch_x86_64.S, switch_aarch64.S.
foreach(machine x86_64 aarch64)
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL machine)
    list(FILTER WEFT_SOURCES EXCLUDE REGEX "_${machine}\\.S$")
  endif()
endforeach()

# What WEFT_UNITY compiles together: a dozen sources of one floor, as the house checks do, so that two files of one floor
# and no others must agree on the names in their anonymous namespaces.
foreach(floor IN LISTS WEFT_FLOORS)
  set(sources ${WEFT_SOURCES})
  list(FILTER sources INCLUDE REGEX "/src/${floor}/[a-z0-9_]+\\.cpp$")
  set(number 0)
  while(sources)
    math(EXPR number "${number} + 1")
    list(SUBLIST sources 0 12 some)
    list(REMOVE_ITEM sources ${some})
    set_source_files_properties(${some} PROPERTIES UNITY_GROUP ${floor}.${number})
  endwhile()
endforeach()

set(WEFT_PUBLIC_FLAGS -fstack-clash-protection -fno-omit-frame-pointer)
set(WEFT_PRIVATE_FLAGS "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Our switch leaves by an indirect jump; endbr64 landing pads would buy nothing and cost bytes on every entry.
  list(APPEND WEFT_PRIVATE_FLAGS -fcf-protection=none)
endif()

# Sanitizers and coverage: whatever links us from the build tree must be instrumented too; nothing of it is installed.
add_library(weft_instrumented INTERFACE)
if(WEFT_SANITIZE)
  target_compile_options(weft_instrumented INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(weft_instrumented INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
if(WEFT_COVERAGE)
  target_compile_options(weft_instrumented INTERFACE --coverage)
  target_link_options(weft_instrumented INTERFACE --coverage)
endif()

# The library as it is, and (for verify/) once more with the seams instrumented.
function(weft_library target)
  add_library(${target} ${ARGN} ${WEFT_SOURCES})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX CXX_EXTENSIONS OFF
    UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_MODE GROUP UNITY_BUILD_UNIQUE_ID WEFT_UNITY_ID)
  target_compile_features(${target} PUBLIC cxx_std_23)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${WEFT_THIRD_DIR})
  target_compile_options(${target} PUBLIC ${WEFT_PUBLIC_FLAGS} PRIVATE ${WEFT_PRIVATE_FLAGS})
  target_link_libraries(${target} PUBLIC Threads::Threads $<BUILD_INTERFACE:weft_instrumented> PRIVATE $<BUILD_INTERFACE:weft_warnings>)
  if(WEFT_HAS_BACKTRACE)
    target_compile_definitions(${target} PRIVATE WEFT_HAS_BACKTRACE=1)
    target_link_libraries(${target} PRIVATE backtrace)
  else()
    target_compile_definitions(${target} PRIVATE WEFT_HAS_BACKTRACE=0)
  endif()
endfunction()

weft_library(weft)
add_library(weft::weft ALIAS weft)
set_target_properties(weft PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 EXPORT_NAME weft)

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

# A dozen sources of a floor that are compiled together, where they are (WEFT_UNITY, and the house checks): the variable
# WEFT_UNIT_sched.2 lists those of the second dozen of sched, WEFT_UNITS the names.
set(WEFT_UNITS "")
foreach(floor IN LISTS WEFT_FLOORS)
  set(some ${WEFT_SOURCES})
  list(FILTER some INCLUDE REGEX "/src/${floor}/[a-z0-9_]+\\.cpp$")
  set(number 0)
  while(some)
    math(EXPR number "${number} + 1")
    list(SUBLIST some 0 12 dozen)
    list(REMOVE_ITEM some ${dozen})
    list(APPEND WEFT_UNITS ${floor}.${number})
    set(WEFT_UNIT_${floor}.${number} ${dozen})
    set_source_files_properties(${dozen} PROPERTIES UNITY_GROUP ${floor}_${number})
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
    UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_MODE GROUP)
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

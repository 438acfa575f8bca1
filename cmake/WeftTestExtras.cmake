# SPDX-License-Identifier: MIT
# Two more kinds of tests, found by where they lie:
#   tests/<floor>/refused/*.cpp   must not compile; each line "// refused: REGEX" must match what the compiler says
#   tests/<floor>/modules/*.cpp   shared objects with hidden symbols, for tests that load them from WEFT_MODULE_DIR
foreach(floor IN LISTS WEFT_FLOORS)
  file(GLOB refused CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${floor}/refused/*.cpp)
  foreach(file IN LISTS refused)
    get_filename_component(noun ${file} NAME_WE)
    file(STRINGS ${file} wanted REGEX "^// refused: ")
    list(TRANSFORM wanted REPLACE "^// refused: " "")
    add_test(NAME ${floor}.refused.${noun}
             COMMAND ${CMAKE_CXX_COMPILER} -std=c++23 -fsyntax-only -I${PROJECT_SOURCE_DIR}/include ${file})
    set_tests_properties(${floor}.refused.${noun} PROPERTIES LABELS unit TIMEOUT 120 PASS_REGULAR_EXPRESSION "${wanted}")
  endforeach()

  file(GLOB modules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${floor}/modules/*.cpp)
  foreach(file IN LISTS modules)
    get_filename_component(noun ${file} NAME_WE)
    set(target weft_${floor}_module_${noun})
    add_library(${target} MODULE ${file})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${target} PRIVATE weft_instrumented weft_warnings)
    target_compile_features(${target} PRIVATE cxx_std_23)
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${noun} CXX_VISIBILITY_PRESET hidden
      VISIBILITY_INLINES_HIDDEN ON LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/modules/${floor})
    add_dependencies(weft_${floor}_tests ${target})
  endforeach()
  if(modules)
    # What a module needs of the library it finds in the program.
    set_target_properties(weft_${floor}_tests PROPERTIES ENABLE_EXPORTS ON)
    target_compile_definitions(weft_${floor}_tests PRIVATE WEFT_MODULE_DIR="${PROJECT_BINARY_DIR}/modules/${floor}")
    target_link_libraries(weft_${floor}_tests PRIVATE ${CMAKE_DL_LIBS})
  endif()
endforeach()

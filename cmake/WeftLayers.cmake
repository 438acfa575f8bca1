# SPDX-License-Identifier: MIT
# Reads the floors, lowest first, from the one table that also tools/house/layers.py checks.
set(WEFT_LAYERS_FILE ${PROJECT_SOURCE_DIR}/tools/layers.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${WEFT_LAYERS_FILE})
file(STRINGS ${WEFT_LAYERS_FILE} lines REGEX "^floor[ \t]+")
set(WEFT_FLOORS "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^floor[ \t]+([a-z]+).*" "\\1" floor "${line}")
  list(APPEND WEFT_FLOORS ${floor})
endforeach()

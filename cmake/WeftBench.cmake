# SPDX-License-Identifier: MIT
include(${PROJECT_SOURCE_DIR}/cmake/bench.cmake OPTIONAL)

# SPDX-License-Identifier: MIT
# find_package(weft) and pkg-config for outside projects.
include(CMakePackageConfigHelpers)
install(TARGETS weft EXPORT weftTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(EXISTS ${PROJECT_SOURCE_DIR}/include/weft)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
if(WEFT_HAS_TLS)
  install(TARGETS weft_tls EXPORT weftTlsTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT weftTlsTargets NAMESPACE weft:: DESTINATION ${config_dir})
endif()
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake DESTINATION ${config_dir})

set(WEFT_PC_LIBS "")
if(WEFT_HAS_BACKTRACE)
  set(WEFT_PC_LIBS "-lbacktrace")
endif()
# From lib/<machine>/pkgconfig back to the prefix, so that an installed tree may be moved.
file(RELATIVE_PATH WEFT_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" WEFT_PC_UP ${WEFT_PC_UP})
list(JOIN WEFT_PUBLIC_FLAGS " " WEFT_PC_CFLAGS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/weft.pc.in ${PROJECT_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(WEFT_HAS_TLS)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-tls.pc.in ${PROJECT_BINARY_DIR}/weft-tls.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/weft-tls.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

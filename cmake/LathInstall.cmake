# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# cmake --install: headers, both libraries, lathwork.pc, a CMake package (lathwork::lathwork,
# lathwork::shared), the command, the licences.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lathwork DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
set_target_properties(lathwork_shared PROPERTIES EXPORT_NAME shared)
install(TARGETS lathwork lathwork_shared forrest forrest_shared EXPORT lathwork
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET lath)
  install(TARGETS lath RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/bench/report)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/report DESTINATION ${CMAKE_INSTALL_DATADIR}/lathwork
          FILES_MATCHING PATTERN "*.py" PATTERN "*.json" PATTERN "requirements.txt" PATTERN "__pycache__" EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/LICENSES/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lathwork)
install(EXPORT lathwork NAMESPACE lathwork:: FILE lathwork-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lathwork-config.cmake.in
                              ${PROJECT_BINARY_DIR}/lathwork-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lathwork-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lathwork-config.cmake ${PROJECT_BINARY_DIR}/lathwork-config-version.cmake
        DESTINATION ${package_dir})

# relative to the file, so that the installed tree can be moved
file(RELATIVE_PATH pc_to_prefix /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
configure_file(${PROJECT_SOURCE_DIR}/cmake/lathwork.pc.in ${PROJECT_BINARY_DIR}/lathwork.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lathwork.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

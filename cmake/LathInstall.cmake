# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# cmake --install: headers, the libraries, lathwork.pc, forrest.pc, a CMake package (lathwork::lathwork,
# lathwork::shared), the command with its completions and report, manual pages, the licences.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lathwork DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/include/forrest.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
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

# Manual pages from the headers' comments and from what the command says of itself.
find_package(Python3 COMPONENTS Interpreter)
set(man_dir ${PROJECT_BINARY_DIR}/man)
if(Python3_Interpreter_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/doc/man/pages.py)
  file(GLOB_RECURSE man_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/lathwork/*.h*)
  string(TIMESTAMP today "%Y-%m-%d" UTC)
  set(man_command ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/doc/man/pages.py ${man_dir} ${PROJECT_VERSION} ${today}
      ${PROJECT_SOURCE_DIR}/include)
  if(TARGET lath)
    list(APPEND man_command $<TARGET_FILE:lath>)
    list(APPEND man_sources lath)
  endif()
  add_custom_command(OUTPUT ${man_dir}/made COMMAND ${man_command} COMMAND ${CMAKE_COMMAND} -E touch ${man_dir}/made
                     DEPENDS ${man_sources} ${PROJECT_SOURCE_DIR}/doc/man/pages.py ${PROJECT_SOURCE_DIR}/doc/man/lath.md
                     COMMENT "manual pages" VERBATIM)
  add_custom_target(lath_man ALL DEPENDS ${man_dir}/made)
  foreach(section 1 3)
    install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} FILES_MATCHING PATTERN "*.${section}")
  endforeach()
elseif(NOT Python3_Interpreter_FOUND)
  message(WARNING "no manual pages: python3 not found")
endif()

if(TARGET lath)
  set(completions ${PROJECT_BINARY_DIR}/completions)
  install(FILES ${completions}/lath DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/_lath DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completions}/lath.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
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
foreach(name lathwork forrest)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

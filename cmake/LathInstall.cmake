# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# cmake --install BUILD [--component C]. Components, for distributions that split packages:
#   lib    the shared libraries, the licences
#   dev    headers, static libraries, lathwork.pc, forrest.pc, the CMake package (lathwork::lathwork,
#          lathwork::shared, lathwork::forrest, lathwork::forrest_shared), manual pages of section 3, doc/
#   tools  the command lath with lath-replay, which `lath replay` starts, their manual pages, completions
#   bench  lath-bench and lath-report with their manual pages
#   valkey the module for Valkey and Redis, in lib/lathwork
# The target lath_product builds all of them.
include(CMakePackageConfigHelpers)

set(libraries lathwork lathwork_shared forrest forrest_shared)
set(tables "")
if(TARGET lath-bench)
  set(tables lath-bench lath-report)
endif()
add_custom_target(lath_product DEPENDS ${libraries} ${tables})
if(TARGET lath)
  add_dependencies(lath_product lath lath-replay lath_completions)
endif()

if(TARGET lathwork_valkey)
  add_dependencies(lath_product lathwork_valkey)
endif()

include(LathManuals)
if(TARGET lath_man)
  add_dependencies(lath_product lath_man)
endif()

# Before anything is copied: is it built? A prefix that is filled half way serves nobody.
function(lath_install_only_built component)
  install(CODE "foreach(file ${ARGN})
    if(NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \"nothing is installed: \${file} is not built. Build it first: \"
              \"cmake --build ${PROJECT_BINARY_DIR} --target lath_product\")
    endif()
  endforeach()" COMPONENT ${component})
endfunction()
lath_install_only_built(lib "\"$<TARGET_FILE:lathwork_shared>\" \"$<TARGET_FILE:forrest_shared>\"")
lath_install_only_built(dev "\"$<TARGET_FILE:lathwork>\" \"$<TARGET_FILE:forrest>\"")
if(TARGET lath_man)
  lath_install_only_built(dev "\"${man_dir}/made\"")
endif()
if(TARGET lath)
  lath_install_only_built(tools "\"$<TARGET_FILE:lath>\" \"$<TARGET_FILE:lath-replay>\" \"${PROJECT_BINARY_DIR}/completions/lath\"")
endif()
if(TARGET lath-bench)
  lath_install_only_built(bench "\"$<TARGET_FILE:lath-bench>\" \"$<TARGET_FILE:lath-report>\"")
endif()
if(TARGET lathwork_valkey)
  lath_install_only_built(valkey "\"$<TARGET_FILE:lathwork_valkey>\"")
endif()

# lib and dev
set_target_properties(lathwork_shared PROPERTIES EXPORT_NAME shared)
install(TARGETS ${libraries} EXPORT lathwork
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT lib)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT lib)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lathwork DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/include/forrest.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/doc/images DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.svg")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lathwork)
install(EXPORT lathwork NAMESPACE lathwork:: FILE lathwork-targets.cmake DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lathwork-config.cmake.in
                              ${PROJECT_BINARY_DIR}/lathwork-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lathwork-config-version.cmake COMPATIBILITY ${lath_compatibility})
install(FILES ${PROJECT_BINARY_DIR}/lathwork-config.cmake ${PROJECT_BINARY_DIR}/lathwork-config-version.cmake
        DESTINATION ${package_dir} COMPONENT dev)

# For debuggers and tracers: modules and scripts, and what gdb runs when it loads the library, found by the library's path.
set(debug_dir ${CMAKE_INSTALL_DATADIR}/lathwork/debug)
set(auto_load ${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/debug/lathwork_walk.py ${PROJECT_SOURCE_DIR}/debug/lathwork_gdb.py
        ${PROJECT_SOURCE_DIR}/debug/lathwork_drgn.py DESTINATION ${debug_dir} COMPONENT dev)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/debug/changes.bt ${PROJECT_SOURCE_DIR}/debug/contention.bt
        ${PROJECT_SOURCE_DIR}/debug/refusals.bt DESTINATION ${debug_dir} COMPONENT dev)
file(RELATIVE_PATH debug_from_auto_load /x/${auto_load} /x/${debug_dir})
configure_file(${PROJECT_SOURCE_DIR}/debug/auto-load.py ${PROJECT_BINARY_DIR}/auto-load.py @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/auto-load.py DESTINATION ${auto_load} COMPONENT dev
        RENAME liblathwork.so.${PROJECT_VERSION}-gdb.py)

# relative to the file, so that the installed tree can be moved
file(RELATIVE_PATH pc_to_prefix /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
foreach(name lathwork forrest)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

# tools, bench and valkey
if(TARGET lathwork_valkey)
  # servers refuse a module that is not executable
  install(TARGETS lathwork_valkey LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lathwork COMPONENT valkey
          PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
if(TARGET lath)
  install(TARGETS lath lath-replay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  set(completions ${PROJECT_BINARY_DIR}/completions)
  install(FILES ${completions}/lath DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  install(FILES ${completions}/_lath DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tools)
  install(FILES ${completions}/lath.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
endif()
if(TARGET lath-bench)
  install(TARGETS lath-bench lath-report RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT bench)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/report DESTINATION ${CMAKE_INSTALL_DATADIR}/lathwork COMPONENT bench
          FILES_MATCHING PATTERN "*.py" PATTERN "*.json" PATTERN "requirements.txt" PATTERN "__pycache__" EXCLUDE)
endif()
if(TARGET lath_man)
  install(DIRECTORY ${man_dir}/man7/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 COMPONENT dev FILES_MATCHING PATTERN "*.7")
  install(DIRECTORY ${man_dir}/man3/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev FILES_MATCHING PATTERN "*.3")
endif()
if(TARGET lath_man AND TARGET lath)
  install(DIRECTORY ${man_dir}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools
          FILES_MATCHING PATTERN "*.1" PATTERN "lath-bench.1" EXCLUDE PATTERN "lath-report.1" EXCLUDE)
  if(TARGET lath-bench)
    install(DIRECTORY ${man_dir}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT bench
            FILES_MATCHING PATTERN "lath-bench.1" PATTERN "lath-report.1")
  endif()
endif()

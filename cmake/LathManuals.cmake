# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The manual pages, from the headers' comments, from doc/man and from what the command says of itself (doc/man/pages.py): in
# ${man_dir}/man1 and man3, so that `man -M` finds them there before they are installed. Not in a subproject: its build should not
# take them.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
  message(WARNING "no manual pages: python3 not found")
  return()
endif()

set(man_dir ${PROJECT_BINARY_DIR}/man)
file(GLOB_RECURSE man_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/lathwork/*.h* ${PROJECT_SOURCE_DIR}/doc/man/*)
list(FILTER man_sources EXCLUDE REGEX "__pycache__")
string(TIMESTAMP today "%Y-%m-%d" UTC)
set(man_command ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/doc/man/pages.py ${man_dir} ${PROJECT_VERSION} ${today}
    ${PROJECT_SOURCE_DIR}/include)
if(TARGET lath)
  list(APPEND man_command $<TARGET_FILE:lath>)
endif()
foreach(program lath lath-bench lath-replay lath-report) # the command asks the others
  if(TARGET ${program})
    list(APPEND man_sources ${program})
  endif()
endforeach()
add_custom_command(OUTPUT ${man_dir}/made COMMAND ${man_command} COMMAND ${CMAKE_COMMAND} -E touch ${man_dir}/made
                   DEPENDS ${man_sources} COMMENT "manual pages" VERBATIM)
add_custom_target(lath_man ALL DEPENDS ${man_dir}/made)

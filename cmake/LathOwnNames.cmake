# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Script: gives every global symbol of a static library that is not part of its interface a name that no program has:
# `post` becomes `lath__post`. A static library has no symbols that only its own objects see, so without this a program
# with its own function called post() would not link. Debuggers go by the names in the debug information, which stay.
#
#   cmake -DARCHIVE=FILE -DNM=nm -DOBJCOPY=objcopy -P LathOwnNames.cmake

execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${ARCHIVE}
                OUTPUT_VARIABLE symbols RESULT_VARIABLE code ERROR_VARIABLE error)
if(code)
  message(FATAL_ERROR "${NM} cannot read ${ARCHIVE}: ${error}")
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_.$]+ [A-Za-z]" symbols "${symbols}")
list(REMOVE_DUPLICATES symbols)
set(map "")
foreach(symbol ${symbols})
  string(REGEX REPLACE "\n?([^ ]+) .*" "\\1" name "${symbol}")
  # names that begin with an underscore are those of the compiler and of probes
  if(NOT name MATCHES "^(lath_|forrest_|_)")
    string(APPEND map "${name} lath__${name}\n")
  endif()
endforeach()
if(map)
  file(WRITE ${ARCHIVE}.names "${map}")
  execute_process(COMMAND ${OBJCOPY} --redefine-syms=${ARCHIVE}.names ${ARCHIVE} RESULT_VARIABLE code ERROR_VARIABLE error)
  if(code)
    file(REMOVE ${ARCHIVE}) # so that the next build makes it again
    message(FATAL_ERROR "${OBJCOPY} cannot rename the symbols of ${ARCHIVE}: ${error}")
  endif()
endif()

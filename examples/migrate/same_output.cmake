# SPDX-License-Identifier: MIT OR GPL-2.0-only
# cmake -DBEFORE=PROGRAM -DAFTER=PROGRAM -P same_output.cmake: both succeed and print the same, which is not nothing.
foreach(which BEFORE AFTER)
  execute_process(COMMAND ${${which}} OUTPUT_VARIABLE ${which}_printed RESULT_VARIABLE failed TIMEOUT 60)
  if(failed OR NOT ${which}_printed)
    message(FATAL_ERROR "${${which}} ends with ${failed} and prints: ${${which}_printed}")
  endif()
endforeach()
if(NOT BEFORE_printed STREQUAL AFTER_printed)
  message(FATAL_ERROR "${BEFORE} prints\n${BEFORE_printed}${AFTER} prints\n${AFTER_printed}")
endif()

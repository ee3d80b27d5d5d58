# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# How much of FILES the inputs in CORPUS reach in the libFuzzer target PROGRAM; below MINIMUM percent of the lines of
# all together it fails and shows the lines that were never reached.
function(run out)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(code)
    message(FATAL_ERROR "${ARGN}: ${code}\n${errors}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(raw ${PROGRAM}.profraw)
set(profile ${PROGRAM}.profdata)
run(none ${CMAKE_COMMAND} -E env LLVM_PROFILE_FILE=${raw} ${PROGRAM} -runs=0 -max_len=4096 ${CORPUS})
run(none ${LLVM_PROFDATA} merge -o ${profile} ${raw})
run(json ${LLVM_COV} export -summary-only -instr-profile=${profile} ${PROGRAM} ${FILES})

string(JSON last LENGTH "${json}" data 0 files)
math(EXPR last "${last} - 1")
foreach(i RANGE ${last})
  string(JSON name GET "${json}" data 0 files ${i} filename)
  string(JSON count GET "${json}" data 0 files ${i} summary lines count)
  string(JSON covered GET "${json}" data 0 files ${i} summary lines covered)
  message(STATUS "${covered} of ${count} lines: ${name}")
endforeach()
string(JSON count GET "${json}" data 0 totals lines count)
string(JSON covered GET "${json}" data 0 totals lines covered)
math(EXPR permille "1000 * ${covered} / ${count}")
math(EXPR minimum "10 * ${MINIMUM}")
message(STATUS "${covered} of ${count} lines of all (at least ${MINIMUM} % wanted)")
if(permille LESS minimum)
  run(text ${LLVM_COV} show -instr-profile=${profile} ${PROGRAM} ${FILES})
  string(REPLACE ";" "," text "${text}") # no list of it
  string(REGEX MATCHALL "[0-9]+[|] +0[|][^\n]*" missed "${text}")
  string(REPLACE ";" "\n" missed "${missed}")
  message("${missed}")
  message(FATAL_ERROR "the corpus reaches too little: the lines above have not been reached")
endif()

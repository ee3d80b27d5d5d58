# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# What every directory shares: flags from the options, and helpers to declare targets.

set(lath_c_warnings -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla)
set(lath_cxx_warnings -Wall -Wextra -Wshadow)
# libstdc++ 12 uses its own deprecated names in std::stable_sort, which clang 19 then reports
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND lath_cxx_warnings -Wno-deprecated-declarations)
endif()
if(LATH_WERROR)
  list(APPEND lath_c_warnings -Werror)
  list(APPEND lath_cxx_warnings -Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C>:${lath_c_warnings}>" "$<$<COMPILE_LANGUAGE:CXX>:${lath_cxx_warnings}>")

if(LATH_SANITIZE)
  add_compile_options(-fsanitize=${LATH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LATH_SANITIZE})
  # GNU ld takes four times as long for such programs
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld LATH_HAVE_LLD)
  if(LATH_HAVE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
if(LATH_HARDEN)
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fcf-protection)
  add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
endif()
if(LATH_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
# Seen by the core and by its tests alike, so that both agree on the shape of a node.
foreach(name LATH_NODE_CAP LATH_SPARSE_RING LATH_HINT_MISSES LATH_LARGE_FROM)
  if(${name})
    add_compile_definitions(${name}=${${name}})
  endif()
endforeach()
if(LATH_ASSERT)
  add_compile_definitions(LATH_ASSERTIONS=1)
endif()
if(LATH_SCALAR)
  add_compile_definitions(LATH_SCALAR=1)
endif()

set(LATH_X86 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT LATH_SCALAR)
  set(LATH_X86 ON)
endif()

# Finds the library's own headers, for #include "..." alone: on arm64 <signal.h> includes <sys/user.h> of the system.
set(lath_inside "SHELL:-iquote \"${PROJECT_SOURCE_DIR}/src\"")

# Add a directory that may not be part of this tree (source packages leave some out).
macro(lath_add_directory dir)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/CMakeLists.txt)
    add_subdirectory(${dir})
  endif()
endmacro()

# lath_simd(file flags...): one source compiled for one instruction set; chosen at run time.
function(lath_simd file)
  if(LATH_X86)
    set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${ARGN}")
  endif()
endfunction()

# lath_need(PACKAGE DEBIAN_PACKAGE WHY): find_package, or an error that says what to install and what for.
macro(lath_need package debian why)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is not found (Debian: ${debian}): ${why}. "
            "LATH_CLI=OFF, LATH_BENCH=OFF and LATH_TESTS=OFF build the library alone.")
  endif()
endmacro()

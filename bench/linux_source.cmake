# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The kernel's rbtree and maple tree come from the packaged Linux source, unpacked into the build
# directory. Sets LATH_LINUX_DIR, or LATH_LINUX_WHY when there is none.
set(LATH_LINUX_TARBALL "" CACHE FILEPATH "Linux source (tar.xz) for the kernel's trees; empty: look in /usr/src")

set(tarball "${LATH_LINUX_TARBALL}")
if(NOT tarball)
  file(GLOB found /usr/src/linux-source-6.1.tar.xz)
  set(tarball "${found}")
endif()

if(NOT LATH_URCU)
  set(LATH_LINUX_WHY "LATH_URCU is off") # the kernel's test headers include liburcu's
elseif(tarball AND EXISTS "${tarball}")
  get_filename_component(base "${tarball}" NAME)
  string(REGEX REPLACE "\\.tar\\..*$" "" base "${base}")
  set(LATH_LINUX_DIR ${PROJECT_BINARY_DIR}/linux/${base})
  set(stamp ${PROJECT_BINARY_DIR}/linux/unpacked-${base})
  if("${tarball}" IS_NEWER_THAN "${stamp}" OR NOT EXISTS ${LATH_LINUX_DIR}/lib/maple_tree.c)
    message(STATUS "Unpacking ${tarball} (rbtree and maple tree)")
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/linux)
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E tar xf ${tarball} ${base}/tools/lib ${base}/tools/include ${base}/tools/arch
              ${base}/tools/testing/radix-tree ${base}/lib/maple_tree.c ${base}/include/linux
              ${base}/include/trace/events/maple_tree.h
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/linux RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "Cannot unpack ${tarball}")
    endif()
    file(TOUCH ${stamp})
  endif()
else()
  set(LATH_LINUX_WHY "package linux-source-6.1 not found")
endif()

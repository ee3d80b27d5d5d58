# SPDX-License-Identifier: MIT OR GPL-2.0-only
# CMakeLists.txt of a project that finds the installed package.
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(lathwork REQUIRED CONFIG)
foreach(kind lathwork shared)
  add_executable(user_${kind} user.c)
  target_link_libraries(user_${kind} PRIVATE lathwork::${kind})
endforeach()

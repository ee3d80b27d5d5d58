# SPDX-License-Identifier: MIT OR GPL-2.0-only
# CMakeLists.txt of a project that finds the installed package.
cmake_minimum_required(VERSION 3.25)
project(consumer C CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(lathwork ${LATH_WANTED} REQUIRED CONFIG)
foreach(kind lathwork shared)
  add_executable(user_${kind} user.c)
  add_executable(user_cxx_${kind} user.cpp)
  target_link_libraries(user_${kind} PRIVATE lathwork::${kind})
  target_link_libraries(user_cxx_${kind} PRIVATE lathwork::${kind})
endforeach()

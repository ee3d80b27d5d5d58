#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# consumer.sh WORK [CMAKE-ARGUMENTS...]: programs in C and C++ outside the tree that use an installed lathwork, static and
# shared, found by CMake and by pkg-config. Where it is installed the arguments, PKG_CONFIG_PATH and LD_LIBRARY_PATH say.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
work=$1
shift
mkdir -p "$work/consumer"
cp "$here"/user.c "$here"/user.cpp "$work/consumer"
cp "$here/consumer.cmake" "$work/consumer/CMakeLists.txt"

# CMake; what is installed is of 0.1 or of another release that programs for it may use
read -r major minor _ < <(pkg-config --modversion lathwork | tr . ' ')
other=$((major ? major + 1 : 0)).$((major ? 0 : minor + 1))
if cmake -S "$work/consumer" -B "$work/consumer/other" -DLATH_WANTED=$other "$@" >"$work/consumer.log" 2>&1; then
	echo "find_package(lathwork $other) takes $major.$minor" >&2
	exit 1
fi
cmake -S "$work/consumer" -B "$work/consumer/build" -DLATH_WANTED="$major.$minor" "$@" >"$work/consumer.log"
cmake --build "$work/consumer/build" >>"$work/consumer.log"
for kind in lathwork shared; do
	"$work/consumer/build/user_$kind"
	"$work/consumer/build/user_cxx_$kind"
done

# pkg-config
read -ra flags < <(pkg-config --cflags --libs lathwork)
gcc "$here/user.c" "${flags[@]}" -o "$work/user_pc"
"$work/user_pc"
g++ -std=c++20 "$here/user.cpp" "${flags[@]}" -o "$work/user_cxx_pc"
"$work/user_cxx_pc"
read -ra flags < <(pkg-config --static --cflags --libs lathwork | sed 's/-llathwork/-l:liblathwork.a/')
gcc "$here/user.c" "${flags[@]}" -o "$work/user_static"
"$work/user_static"
if ldd "$work/user_static" | grep liblathwork; then
	echo "the static program needs liblathwork.so" >&2
	exit 1
fi

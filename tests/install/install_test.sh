#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# install_test.sh BUILD_DIR: an installed tree serves find_package (static and shared) and pkg-config.
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/root" >"$work/install.log"

mkdir "$work/consumer"
cp "$here/user.c" "$work/consumer"
cp "$here/consumer.cmake" "$work/consumer/CMakeLists.txt"
cmake -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$work/root" >"$work/consumer.log"
cmake --build "$work/consumer/build" >>"$work/consumer.log"
"$work/consumer/build/user_lathwork"
"$work/consumer/build/user_shared"

pc=$(find "$work/root" -name lathwork.pc -printf '%h')
export PKG_CONFIG_PATH=$pc
read -ra flags < <(pkg-config --cflags --libs lathwork)
gcc "$here/user.c" "${flags[@]}" -o "$work/user_pc"
LD_LIBRARY_PATH=$(dirname "$pc") "$work/user_pc"

# nothing but lath_ names comes out of the shared library
if nm -D --defined-only "$(dirname "$pc")/liblathwork.so" | awk '{ print $3 }' | grep -v '^lath_'; then
	echo "names above leak from liblathwork.so" >&2
	exit 1
fi

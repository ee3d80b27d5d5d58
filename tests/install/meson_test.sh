#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# meson_test.sh MESON ARCHIVE: a Meson project with packaging/meson/lathwork.wrap and the source archive, and nothing from the
# network, builds programs in C and C++ and runs them.
set -euo pipefail
meson=$(realpath -s "$1")
archive=$(realpath "$2")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/subprojects/packagefiles"
cp "$here/user.c" "$here/user.cpp" "$work"
cp "$here/../../packaging/meson/lathwork.wrap" "$work/subprojects"
cp "$archive" "$work/subprojects/packagefiles"
{
	echo "project('user', 'c', 'cpp', default_options: ['cpp_std=c++20'])"
	sed -n '/^```meson$/,/^```$/p' "$here/../../doc/packages.md" | grep -v '^```' # the lines that users are told
	echo "test('c', executable('user_c', 'user.c', dependencies: lathwork))"
	echo "test('c++', executable('user_cpp', 'user.cpp', dependencies: lathwork))"
} >"$work/meson.build"
for step in "setup $work/build $work" "test -C $work/build"; do
	if ! "$meson" $step >"$work/log" 2>&1; then
		tail -n 25 "$work/log"
		exit 1
	fi
done
grep -qE '^Ok: +2' "$work/log" || { tail -n 25 "$work/log"; exit 1; }

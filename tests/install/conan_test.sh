#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# conan_test.sh CONAN: the recipe makes a package in a separate cache, and the consumer project uses it. xxHash is the
# system's, so that no server of packages is needed.
set -euo pipefail
conan=$(realpath -s "$1")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CONAN_HOME=$work/conan
"$conan" profile detect >"$work/log" 2>&1
printf '[platform_requires]\nxxhash/%s\n[conf]\ntools.cmake.cmake_layout:test_folder=%s\n' "$(pkg-config --modversion libxxhash)" "$work/test" >>"$CONAN_HOME/profiles/default"
if ! "$conan" create "$source/packaging/conan" --no-remote >"$work/log" 2>&1; then
	tail -n 25 "$work/log"
	exit 1
fi
grep -q 'Running test()' "$work/log" || { echo "conan did not run the consumer project"; exit 1; }

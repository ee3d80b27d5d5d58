#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# quickstart_test.sh SOURCE BUILD: the programs of doc/install.md, built with doc/install.md's own commands
# from their own prefix, give the right answers; uninstalling leaves nothing of ours.
set -euo pipefail
source=$(realpath "$1")
build=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home
prefix=$HOME/lathwork
mkdir -p "$HOME" "$work/here"
unset PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

said=$("$source/tools/install-tree" "$build" "$prefix")
for word in "$prefix/lib/pkgconfig" "-rpath,$prefix/lib" "PATH=$prefix/bin"; do
	[[ $said == *"$word"* ]] || fail "install-tree does not say $word: $said"
done

section=$work/section
awk '/^## /{ on = $2 == "First" } on' "$source/doc/install.md" >"$section"
# block LANGUAGE: the code of that kind
block() { awk -v begin="^\`\`\`$1\$" '/^```$/ { on = 0 } on; $0 ~ begin { on = 1 }' "$section"; }
cd "$work/here"
block c >quickstart.c
block cpp >quickstart.cpp
block cmake >CMakeLists.txt
# commands: indented lines outside of code
awk '/^```/ { on = !on; next } !on && /^    / { print substr($0, 5) }' "$section" >commands
for word in 'cc quickstart.c' ./quickstart 'cmake -B' build/quickstart; do
	grep -qF -- "$word" commands || fail "doc/install.md has no command \"$word\" among its first programs"
done
bash -eu commands >answers 2>errors || fail "doc/install.md's program fails: $(cat errors)"
(($(grep -cFx '15 is in [10, 30) -> 7' answers) == 2)) || fail "doc/install.md's programs say: $(cat answers)"

# a compiler whose default is older says what is wrong first
if [[ $(g++ -dM -E -x c++ - </dev/null | awk '$2 == "__cplusplus" { print $3 + 0 }') -le 201703 ]]; then
	complaint=$(g++ -fsyntax-only -I"$prefix/include" quickstart.cpp 2>&1 | grep -m 1 error) || true
	[[ $complaint == *"needs C++20"* ]] || fail "g++ without -std=c++20 says: $complaint"
fi

# a file that an older version had goes with the next install, a stranger's file stays
list=$prefix/share/lathwork/installed.txt
touch "$prefix/include/lathwork/old.h" "$prefix/lib/stranger"
echo include/lathwork/old.h >>"$list"
sort -o "$list" "$list"
"$source/tools/install-tree" "$build" "$prefix" >/dev/null
[[ ! -e $prefix/include/lathwork/old.h ]] || fail "a header of an older version is still there"
"$source/tools/install-tree" --remove "$prefix" >/dev/null
left=$(find "$prefix" ! -type d -printf '%P\n' -o -name '*lathwork*' ! -path "$prefix" -printf '%P\n')
[[ $left == lib/stranger ]] || fail "after --remove there is: $left"
if "$source/tools/install-tree" --remove "$prefix" 2>errors >/dev/null || ! grep -q installed.txt errors; then
	fail "a second --remove: $(cat errors)"
fi

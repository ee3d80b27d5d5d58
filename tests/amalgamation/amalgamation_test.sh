#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# amalgamation_test.sh SOURCE KIND: lathwork.c and lathwork.h are the same whenever they are made, and one line compiles
# them with gcc, clang, musl's gcc or arm64's (KIND). The examples, a program in C and C++, and the unit tests run with
# them, and a plugin that has them is opened and closed; under qemu, on arm64 and on an x86-64 without POPCNT (qemu64), random tapes on each form of the search too. With gcc
# only the public names are visible, and there is no warning.
set -euo pipefail
source=$(realpath "$1") kind=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

cxx=() run=()
# A test looks inside: there LATH_LOCAL is nothing.
flags=(-O1 -DLATH_LOCAL=)
case $kind in
gcc) cc=gcc cxx=(g++) flags=(-O2 -Wall -Wextra -Werror) ;;
clang) cc=clang-19 cxx=(clang++-19) flags+=(-Wall -Wextra -Werror) ;;
musl) cc=musl-gcc run=(env) ;;
qemu64) cc=gcc run=(qemu-x86_64 -cpu qemu64) flags=(-O2 -DLATH_LOCAL=) ;; # an optimiser moves instructions
arm64) cc=aarch64-linux-gnu-gcc run=(qemu-aarch64 -L /usr/aarch64-linux-gnu) flags+=(-Wall -Wextra -Werror) ;;
*) fail "no such kind: $kind" ;;
esac
for needed in "$cc" ${run[0]+"${run[0]}"}; do
	if ! command -v "$needed" >/dev/null; then
		echo "skipped: amalgamation_$kind: $needed is missing"
		exit 77
	fi
done
"$source/tools/amalgamate" --output "$work"
cd "$work"

"$cc" -std=c11 "${flags[@]}" -fPIC -c lathwork.c

# compile NAME FLAGS AND SOURCES...
compile() { "$cc" -std=gnu11 -O1 -I. -pthread "${@:2}" lathwork.o -o "$1"; }
# expect TEXT NAME ARGUMENTS...: the program says it
expect() {
	local said
	said=$("${run[@]}" "./$2" "${@:3}") || fail "$2: exit code $?"
	[[ $said == *"$1"* ]] || fail "$2 says: $said"
}

if [[ $kind == gcc || $kind == musl ]]; then
	"$cc" -std=gnu11 -O1 -I. -shared -fPIC lathwork.o "$source/tests/amalgamation/plugin.c" -o plugin.so
	"$cc" -std=gnu11 -O1 -pthread "$source/tests/amalgamation/plugin_host.c" -ldl -o plugin_host
	expect "opened and closed twice" plugin_host ./plugin.so
	# a plugin that exports none of the calls uses the copy in it, not another one in the process
	echo 'int lath_index_init(void *index) { return index ? -22 : 0; }' >other.c
	"$cc" -shared -fPIC -w other.c -o other.so
	"$cc" -std=gnu11 -O0 -I. -fPIC -w -DLATH_API= -fvisibility=hidden -c lathwork.c -o own.o
	"$cc" -std=gnu11 -O1 -I. -shared -fPIC own.o "$source/tests/amalgamation/plugin.c" -o own.so
	said=$(env LD_PRELOAD=./other.so ./plugin_host ./own.so) || fail "plugin_host, beside another copy: exit code $?"
	[[ $said == *"opened and closed twice"* ]] || fail "plugin_host, beside another copy, says: $said"
	# a static program has no plugins, and links without a word
	compile user "$source/tests/amalgamation/user.c" -static -Wl,--fatal-warnings
	expect "index, intervals, space, queue" user
fi
compile user "$source/tests/amalgamation/user.c"
expect "index, intervals, space, queue" user
if ((${#cxx[@]})); then
	"${cxx[@]}" -std=c++11 -Wall -Wextra -Werror -O1 -I. -pthread -x c++ "$source/tests/amalgamation/user.c" -x none lathwork.o -o user_cxx
	expect "index, intervals, space, queue" user_cxx
fi

# the examples include the headers by the names that they have when they are installed
mkdir lathwork
for header in "$source"/include/lathwork/*.h; do
	echo '#include "../lathwork.h"' >"lathwork/${header##*/}"
done
compile quickstart "$source/examples/quickstart.c"
expect "15 is in [10, 30) -> 7" quickstart
compile space_pool "$source/examples/space_pool.c"
expect "40000 blocks in" space_pool
if [[ $kind == gcc ]]; then # with the store, whose header of xxHash is this machine's
	"$cc" -std=c11 "${flags[@]}" -DLATHWORK_STORE -c lathwork.c -o store.o
	"$cc" -std=gnu11 -O1 -I. -pthread -DLATHWORK_STORE "$source/examples/store.c" store.o -o store
	expect "fruit/plum is blue" store
fi
rm -r lathwork

if [[ $kind == gcc ]]; then
	"$source/tools/amalgamate" --output again
	cmp lathwork.c again/lathwork.c && cmp lathwork.h again/lathwork.h
	nm --defined-only --extern-only lathwork.o | awk '{ print $3 }' | sort >visible
	grep -vE '^lath_' visible && fail "not names of the library"
	while read -r name; do
		grep -qE "LATH_API.*[ *]$name\b|^[^ ].*[ *]$name\(" lathwork.h || fail "$name is visible and not public"
	done <visible
	grep -qx lath_index_insert_item visible || fail "the index is not there"
	exit
fi

inside=(-iquote "$source/src" -I "$source/include" -I "$source/tests")
for unit in "$source"/tests/*/*_unit.c; do
	name=$(basename "$unit" .c)
	compile "$name" "${inside[@]}" -DLATH_UNIT="$name" "$source/tests/base/unit_main.c" "$unit"
	"${run[@]}" "./$name" || fail "$name failed"
done

forms=() # and the exit code of a program of tapes: 64 and the form
case $kind in
arm64) forms=(scalar:64 neon:66) ;;
qemu64) forms=(scalar:64) ;;
esac
if ((${#forms[@]})); then
	compile search "${inside[@]}" "$source/tests/index/search_test.c"
	"${run[@]}" ./search
	"${cc/%gcc/g++}" -std=gnu++20 -O1 "${inside[@]}" -c "$source/tests/index/tape.cpp" -o tape.o
	compile index "${inside[@]}" "$source"/tests/base/{tape_isa,oracle}.c tape.o -lstdc++
	for form in "${forms[@]}"; do
		code=0
		LATH_ISA=${form%:*} "${run[@]}" ./index --play 30 || code=$?
		((code == ${form#*:})) || fail "tapes, ${form%:*}: exit code $code"
	done
fi

#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# options_test.sh SOURCE: LATH_CLI, LATH_BENCH and LATH_TESTS alone and in every combination configure, and ask for
# packages for their parts only; the library needs none of them, also in a subproject; a path may have blanks; what cannot
# work is refused with a sentence. Nothing is compiled.
set -euo pipefail
source=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

fail() {
	printf '%s\n' "$*" >&2
	cat "$log" >&2
	exit 1
}

# configure DIRECTORY ARGUMENTS...: and list the targets
configure() {
	cmake -G Ninja -S "$1" -B "$work/build" -Wno-dev -DLATH_LINUX_TARBALL=/nonexistent "${@:2}" >"$log" 2>&1 &&
		cmake --build "$work/build" --target help >"$work/targets"
}
has() { grep -q "^$1: phony" "$work/targets"; }

for bits in {0..7}; do
	names=(CLI BENCH TESTS) on=() options=()
	for i in 0 1 2; do
		((on[i] = bits >> i & 1)) || true
		options+=("-DLATH_${names[i]}=${on[i]}")
	done
	missing=()
	((on[0] + on[1])) || missing+=(CLI11 nlohmann_json)
	((on[1])) || missing+=(absl Boost TBB)
	((on[2])) || missing+=(doctest)
	disabled=()
	for name in CLI11 nlohmann_json absl Boost TBB doctest; do
		state=OFF
		[[ " ${missing[*]-} " != *" $name "* ]] || state=ON
		disabled+=("-DCMAKE_DISABLE_FIND_PACKAGE_$name=$state")
	done
	configure "$source" "${options[@]}" "${disabled[@]}" || fail "${options[*]} without ${missing[*]-}: cannot be configured"
	for target in lath:0 lath-replay:0 lath-bench:1 lath-report:1 quickstart_c:2; do
		name=${target%:*} wanted=${on[${target#*:}]}
		if has "$name" && ((!wanted)); then fail "${options[*]}: $name is built"; fi
		if ! has "$name" && ((wanted)); then fail "${options[*]}: $name is not built"; fi
	done
	has lath_product && has lathwork && has lathwork_shared || fail "${options[*]}: no library"
done

# what is missing is named, with its package
if configure "$source" -DLATH_CLI=ON -DLATH_BENCH=OFF -DLATH_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON; then
	fail "lath without CLI11 is configured"
fi
grep -q 'libcli11-dev' "$log" || fail "the package of CLI11 is not named"

# liburcu is for tests and peers alone, libnuma is not used
mkdir "$work/pc"
ln -s "$(pkg-config --variable=pcfiledir libxxhash)/libxxhash.pc" "$work/pc"
export PKG_CONFIG_LIBDIR=$work/pc PKG_CONFIG_PATH=
rm -rf "$work/build"
configure "$source" -DLATH_URCU=OFF -DLATH_BENCH=ON -DLATH_TESTS=ON || fail "LATH_URCU=OFF without liburcu and libnuma: cannot be configured"
rm -rf "$work/build"
if configure "$source" -DLATH_TESTS=ON; then fail "tests without liburcu are configured"; fi
grep -q 'LATH_URCU=OFF' "$log" || fail "there is no word about LATH_URCU"
rm -rf "$work/build"
configure "$source" -DLATH_CLI=OFF -DLATH_TESTS=OFF || fail "the library cannot be configured without liburcu and libnuma"
unset PKG_CONFIG_LIBDIR PKG_CONFIG_PATH

# a subproject gets the library alone
mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<-END
	cmake_minimum_required(VERSION 3.25)
	project(user C)
	include(FetchContent)
	FetchContent_Declare(lathwork SOURCE_DIR "$source")
	FetchContent_MakeAvailable(lathwork)
	add_executable(user user.c)
	target_link_libraries(user PRIVATE lathwork::lathwork)
END
cp "$source/tests/install/user.c" "$work/user"
rm -rf "$work/build"
flags=()
for name in CLI11 nlohmann_json doctest absl Python3; do
	flags+=("-DCMAKE_DISABLE_FIND_PACKAGE_$name=ON")
done
configure "$work/user" "${flags[@]}" || fail "a subproject needs more than the library does"
if has lath || has quickstart_c || has lath_man; then fail "a subproject builds more than the library"; fi

# no word of a command is the second half of a path with a blank, in any part
ln -s "$source" "$work/two words"
rm -rf "$work/build"
configure "$work/two words" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DLATH_CLI=ON -DLATH_BENCH=ON -DLATH_TESTS=ON ||
	fail "a path with a blank: cannot be configured"
python3 - "$work/build/compile_commands.json" >"$log" 2>&1 <<-'END' || fail "a path with a blank: is taken apart"
	import json, shlex, sys
	commands = json.load(open(sys.argv[1]))
	apart = [command["file"] for command in commands if any(word.startswith("words/") for word in shlex.split(command["command"]))]
	whole = [command for command in commands if "two words/" in command["command"]]
	sys.exit("\n".join(apart) if apart else not whole)
END

# refused
refused() {
	local sentence=$1
	shift
	rm -rf "$work/build"
	if configure "$source" -DLATH_CLI=OFF -DLATH_TESTS=OFF "$@"; then fail "$*: is configured"; fi
	tr -s ' \n' ' ' <"$log" | grep -qF "$sentence" || fail "$*: no word about \"$sentence\""
}
refused "lathwork needs Linux" -DCMAKE_SYSTEM_NAME=FreeBSD
if echo '#include <lathwork/index.h>' | cc -U__linux__ -I"$source/include" -fsyntax-only -x c - >"$log" 2>&1; then fail "headers"; fi
grep -m 1 'error:' "$log" | grep -q "lathwork needs Linux" || fail "the headers say something else first"
case $(uname -m) in
x86_64) refused "lathwork needs a 64-bit target" -DCMAKE_{C,CXX}_FLAGS=-m32 -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY ;;
esac

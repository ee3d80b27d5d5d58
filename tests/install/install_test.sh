#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# install_test.sh BUILD_DIR: an installed tree serves find_package and pkg-config, static and shared, C and C++;
# the shared library has a versioned name and versioned symbols, lath_ ones alone; the pages and completions fit.
set -euo pipefail
build=$(realpath "$1")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

cmake --install "$build" --prefix "$root" >"$work/install.log"

# CMake
mkdir "$work/consumer"
cp "$here"/user.c "$here"/user.cpp "$work/consumer"
cp "$here/consumer.cmake" "$work/consumer/CMakeLists.txt"
cmake -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$root" >"$work/consumer.log"
cmake --build "$work/consumer/build" >>"$work/consumer.log"
for kind in lathwork shared; do
	"$work/consumer/build/user_$kind"
	"$work/consumer/build/user_cxx_$kind"
done

# pkg-config
pc=$(find "$root" -name lathwork.pc -printf '%h')
lib=$(dirname "$pc")
export PKG_CONFIG_PATH=$pc
[[ $(pkg-config --modversion lathwork) == "$(pkg-config --modversion forrest)" ]] || fail "two versions"
read -ra flags < <(pkg-config --cflags --libs lathwork)
gcc "$here/user.c" "${flags[@]}" -o "$work/user_pc"
LD_LIBRARY_PATH=$lib "$work/user_pc"
g++ -std=c++20 "$here/user.cpp" "${flags[@]}" -o "$work/user_cxx_pc"
LD_LIBRARY_PATH=$lib "$work/user_cxx_pc"
read -ra flags < <(pkg-config --static --cflags --libs lathwork | sed 's/-llathwork/-l:liblathwork.a/')
gcc "$here/user.c" "${flags[@]}" -o "$work/user_static"
"$work/user_static"
if ldd "$work/user_static" | grep -q liblathwork; then
	fail "the static program needs liblathwork.so"
fi

# a program of 2012, with forrest.pc's own include path alone; newer compilers refuse undeclared calls by themselves
read -r include _ < <(pkg-config --cflags-only-I forrest) # what follows is of the libraries below
read -ra libs < <(pkg-config --libs forrest)
for cc in gcc gcc-12 gcc-13 gcc-14 clang clang-19; do
	command -v "$cc" >/dev/null || continue
	"$cc" -std=gnu11 -Wall -Werror=implicit-function-declaration -Werror=int-conversion "$here/forrest.c" \
		"$include" "${libs[@]}" -Wl,-rpath-link,"$lib" -o "$work/forrest"
	LD_LIBRARY_PATH=$lib "$work/forrest"
done

# the shared library
so=$lib/liblathwork.so
readelf -d "$so" | grep -qE 'SONAME.*liblathwork\.so\.[0-9]+\]' || fail "liblathwork.so has no versioned name"
if nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | grep -v '^lath_'; then
	fail "names above leak from liblathwork.so"
fi
if nm -D --defined-only --with-symbol-versions "$so" | grep ' lath_' | grep -v '@@LATHWORK_'; then
	fail "symbols above have no version"
fi

# a page for each header, without complaints
pages=$(find "$root" -name 'lathwork_*.3' | wc -l)
headers=$(find "$root/include/lathwork" -name '*.h' -o -name '*.hpp' | wc -l)
((pages == headers)) || fail "$pages manual pages for $headers headers"
find "$root" -name 'lath*.[13]' >"$work/pages"
while read -r page; do
	if command -v mandoc >/dev/null; then
		mandoc -Tlint -Wwarning "$page" || fail "mandoc complains about $page"
	fi
	if command -v man >/dev/null && man --warnings --local-file -Tutf8 "$page" 2>&1 >/dev/null | grep .; then
		fail "man complains about $page"
	fi
done <"$work/pages"

[[ -x $root/bin/lath ]] || exit 0
grep -q 'lath bench' "$(find "$root" -name lath.1)" || fail "lath.1 does not know lath bench"
for option in $("$root/bin/lath" bench --help 2>/dev/null | grep -oE '^ +--[a-z]+' || true); do
	grep -qF -- "\\-\\-${option#--}" "$(find "$root" -name lath.1)" || fail "lath.1 does not know $option"
done

# completions
complete_with() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_lath
	printf '%s ' "${COMPREPLY[@]}"
}
# shellcheck disable=SC1090
source "$(find "$root" -path '*bash-completion*' -name lath)"
[[ " $(complete_with lath ex)" == *" extents "* ]] || fail "bash: ex is not completed to extents"
[[ " $(complete_with lath extents --ov)" == *" --overlap "* ]] || fail "bash: --ov is not completed to --overlap"
[[ -z $(complete_with lath extents --json x | tr -d ' ') ]] || fail "bash: a file is not left to the shell"
for shell in zsh fish; do
	file=$(find "$root" -path "*$shell*" -name '*lath*' -type f)
	[[ -s $file ]] || fail "no completion for $shell"
	if command -v "$shell" >/dev/null; then
		"$shell" -n "$file" || fail "$shell does not understand $file"
	fi
done

# the report finds its program and its data
if "$root/bin/lath" bench --help &>/dev/null; then
	said=$(HOME=$work XDG_CACHE_HOME='' "$root/bin/lath" report /dev/null 2>&1) || true
	[[ $said == *--setup* ]] || fail "an installed lath report does not say what to do: $said"
fi

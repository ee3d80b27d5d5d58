#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# install_test.sh BUILD_DIR: an installed tree serves find_package and pkg-config, static and shared, C and C++;
# the shared library has a versioned name and versioned symbols, lath_ ones alone; the pages and completions fit. The
# command needs no benchmark peer, components are complete, and what is not built is not installed by half.
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

# as if a library had not been built: nothing is installed
sed "s|\"$build/[^\"]*/liblathwork\.so[^\"]*\"|\"$build/absent.so\"|g" "$build/cmake_install.cmake" >"$work/cmake_install.cmake"
if cmake -DCMAKE_INSTALL_PREFIX="$work/half" -P "$work/cmake_install.cmake" >/dev/null 2>"$work/error"; then
	fail "an install without liblathwork.so succeeds"
fi
grep -q lath_product "$work/error" || fail "an install without liblathwork.so does not say what to build: $(cat "$work/error")"
[[ ! -e $work/half ]] || fail "an install without liblathwork.so leaves $(find "$work/half" -type f | wc -l) files"

# components: all files, each once
for component in lib dev tools bench valkey; do
	cmake --install "$build" --prefix "$work/parts/$component" --component "$component" >"$work/install.log"
	[[ ! -d $work/parts/$component ]] || (cd "$work/parts/$component" && find . ! -type d)
done | sort >"$work/parts.list"
(cd "$root" && find . ! -type d) | sort >"$work/root.list"
diff "$work/root.list" "$work/parts.list" || fail "the components together are not the installed tree"

# what the headers and the licence refer to
docs=$root/share/doc/lathwork
grep -rhoE 'doc/[a-z-]+\.md' "$root/include" | sort -u | while read -r doc; do
	[[ -s $docs/${doc#doc/} ]] || fail "a header refers to $doc, which is not installed"
done
grep -ohE 'images/[a-z-]+\.svg' "$docs"/*.md | sort -u | while read -r image; do
	[[ -s $docs/$image ]] || fail "a document shows $image, which is not installed"
done
grep -oE 'LICENSES/[A-Z][^ ]*' "$docs/LICENSE" | while read -r text; do
	[[ -s $docs/$text ]] || fail "$text is not installed"
done

# CMake and pkg-config
pc=$(find "$root" -name lathwork.pc -printf '%h')
lib=$(dirname "$pc")
export PKG_CONFIG_PATH=$pc
[[ $(pkg-config --modversion lathwork) == "$(pkg-config --modversion forrest)" ]] || fail "two versions"
LD_LIBRARY_PATH=$lib "$here/consumer.sh" "$work" -DCMAKE_PREFIX_PATH="$root"

# a program of 2012, with forrest.pc's own include path alone; newer compilers refuse undeclared calls by themselves
read -r include _ < <(pkg-config --cflags-only-I forrest) # what follows is of the libraries below
read -ra libs < <(pkg-config --libs forrest)
for cc in gcc gcc-12 gcc-13 gcc-14 clang clang-19; do
	command -v "$cc" >/dev/null || continue
	"$cc" -std=gnu11 -Wall -Werror=implicit-function-declaration -Werror=int-conversion "$here/forrest.c" \
		"$include" "${libs[@]}" -Wl,-rpath-link,"$lib" -o "$work/forrest"
	LD_LIBRARY_PATH=$lib "$work/forrest"
done

# in a directory that ldconfig does not know, as doc/install.md says for such a one; also where it was moved to
gcc -std=gnu11 "$here/forrest.c" "$include" "${libs[@]}" -Wl,-rpath-link,"$lib" -Wl,-rpath,"$lib" -o "$work/forrest_here"
env -u LD_LIBRARY_PATH "$work/forrest_here" || fail "a program with an rpath does not find what libforrest.so needs"
cp -r "$root" "$work/moved"
read -ra moved < <(PKG_CONFIG_PATH=$work/moved/${pc#"$root/"} pkg-config --libs forrest)
gcc -std=gnu11 "$here/forrest.c" "$include" "${moved[@]}" -Wl,-rpath,"$work/moved/${lib#"$root/"}" -o "$work/forrest_moved"
rm "$lib/liblathwork.so"*
env -u LD_LIBRARY_PATH "$work/forrest_moved" || fail "libforrest.so looks where it was built"
cp -P "$work/moved/${lib#"$root/"}/liblathwork.so"* "$lib"
if readelf -d "$lib/liblathwork.so" "$root/bin/"* 2>/dev/null | grep -E 'RPATH|RUNPATH'; then
	fail "what needs no library of ours has a path to one"
fi

module=$(find "$root" -name liblathwork-valkey.so)
if [[ $module ]]; then
	[[ -x $module ]] || fail "servers refuse $module, which is not executable"
	[[ $(nm -D --defined-only "$module" | awk '$2 != "A" { print $3 }') =~ ^(Redis|Valkey)Module_OnLoad($'\n'(Redis|Valkey)Module_OnLoad)?$ ]] ||
		fail "the module exports $(nm -D --defined-only "$module" | awk '{ print $3 }' | xargs)"
fi

# the shared library
so=$lib/liblathwork.so
# doc/packages.md: the number that compatible releases share
abi=$(pkg-config --modversion lathwork | sed -E 's/^(0\.[0-9]+|[0-9]+).*/\1/')
for name in lathwork forrest; do
	readelf -d "$lib/lib$name.so" | grep -qF "[lib$name.so.$abi]" || fail "lib$name.so has not the name lib$name.so.$abi"
done
if nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | grep -v '^lath_'; then
	fail "names above leak from liblathwork.so"
fi
# The static ones: nothing that a program may define too.
for name in lathwork forrest; do
	if nm --defined-only --extern-only --format=posix "$lib/lib$name.a" | awk 'NF > 1 { print $1 }' | grep -vE '^(lath_|forrest_|ft_MurmurHash64A$|_)'; then # the hash is a call of libforrest's
		fail "names above leak from lib$name.a"
	fi
done
if nm -D --defined-only --with-symbol-versions "$so" | grep ' lath_' | grep -vE "@@LATHWORK_${abi/./\\.}(\.[0-9]+)?$"; then
	fail "symbols above have no version"
fi

# the pages that were made (tests/doc looks at them), one for each header
pages=$(find "$root" -name 'lathwork_*.3' | wc -l)
headers=$(find "$root/include/lathwork" -path "*/detail" -prune -o \( -name "*.h" -o -name "*.hpp" \) -print | wc -l)
((pages == headers)) || fail "$pages manual pages for $headers headers"
for section in 1 3; do
	diff -r "$build/man/man$section" "$(dirname "$(find "$root" -name "man$section")")/man$section"
done

[[ -x $root/bin/lath ]] || exit 0

# The command needs no peer and finds the library without help. A new name here is a new dependency of every user.
needed=' libedit.so libstdc++.so libgcc_s.so libm.so libc.so ld-linux-x86-64.so '
readelf -d "$root/bin/lath" | sed -nE 's/.*\(NEEDED\).*\[(.*\.so)[^]]*\]/\1/p' | while read -r name; do
	[[ $needed == *" $name "* ]] || fail "lath needs $name"
done
if ldd "$root/bin/lath" | grep -E 'not found|absl|tbb|libcds|Judy|lmdb|boost|jemalloc|mimalloc'; then
	fail "lath needs the libraries above"
fi
env -i "$root/bin/lath" store mem: set a b || fail "an installed lath does not run with an empty environment"

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

# lath finds its companions, and the report its program and its data, also in libexec
mkdir -p "$root/libexec/lathwork"
for place in bin libexec/lathwork; do
	[[ $place == bin ]] || mv "$root/bin/lath-replay" "$root/$place"
	printf 'fio version 2 iolog\nf read 0 4096\n' | "$root/bin/lath" replay - >"$work/replayed" ||
		fail "an installed lath does not find lath-replay in $place"
	grep -q '1 requests on 1 device' "$work/replayed" || fail "lath replay in $place says $(cat "$work/replayed")"
done
[[ -x $root/bin/lath-bench ]] || exit 0
for place in bin libexec/lathwork; do
	[[ $place == bin ]] || mv "$root"/bin/lath-{bench,report} "$root/$place"
	"$root/bin/lath" bench --list sort >/dev/null || fail "an installed lath does not find lath-bench in $place"
	said=$(HOME=$work XDG_CACHE_HOME='' "$root/bin/lath" report /dev/null 2>&1) || true
	[[ $said == *--setup*"$work"* ]] || fail "lath report in $place does not say what to do: $said"
done

#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# packages_test.sh OUTPUT [long]: the source archive builds without git into Debian packages, which lintian accepts and whose
# libraries export what debian/*.symbols and packaging/abi say, and into a Python wheel. In a fresh Debian 12 users of C, C++,
# Python and Rust each get from nothing to a running program: doc/install.md's install line, program and command; debian/tests pass;
# nothing is left behind. Packages, wheel and the table of the four users, users.txt, are left in OUTPUT.
# long: the kernel modules for Debian's kernel, and the build itself in a fresh Debian with no more than
# Build-Depends.
# What cannot be fetched because there is no network is skipped, with its reason; what fails otherwise is a failure.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source=$(realpath "$here/../..")
if ((EUID)) || ! unshare --mount true 2>/dev/null; then
	echo "skipped: packages: a fresh Debian is made by root, with the right to mount"
	exit
fi
mkdir -p "$1"
output=$(realpath "$1")
long=${2-}
work=$(mktemp -d)
making=
passed=0
# a fresh Debian that waits in $work/use goes when $work has gone
trap 'rm -rf "$work"; [[ ! $making ]] || wait "$making" || true' EXIT

fail() {
	printf '%s\n' "FAILED: $*" "$passed passed, 1 failed" >&2
	exit 1
}
ok() {
	passed=$((passed + 1))
	printf 'ok %5d s  %s\n' "$SECONDS" "$*"
}

# root COMMAND INCLUDE...: a Debian 12 with these packages, without a compiler cache; $work/COMMAND gets its directory, while it
# lasts
root() {
	local command=$1 include
	shift
	include=$(printf ',%s' "$@")
	env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER mmdebstrap --quiet --variant=apt --include="${include#,}" --format=null --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/info/*' --dpkgopt=force-unsafe-io --customize-hook="$work/$command" bookworm /dev/null
}

# block FILE LANGUAGE: the first code of that kind in the chapter
block() { awk -v begin="^\`\`\`$2\$" '/^```$/ && on { exit } on; $0 ~ begin { on = 1 }' "$1"; }

# offline LOG: whether it says that no network could be reached
offline() {
	grep -qE "[Cc]ould ?n[o']t (resolve|connect)|failure in name resolution|NewConnectionError|ConnectTimeout|unreachable|timed out" "$1"
}

# skip LANGUAGE REASON: its user is not tried
skip() {
	echo "skipped: packages: $1: $2"
	sed -i "/^$1\t/d" "$user/lines"
	printf '%s\t%s\n' "$1" "skipped: $2" >>"$work/skipped"
}

# --- the source archive, and what doc/install.md tells users ---
archive=$("$source/tools/release" archive "$output")
version=$(basename "$archive" .tar.gz)
version=${version#lathwork-}
cp "$archive" "$work/lathwork_$version.orig.tar.gz"
tar -C "$work" -xf "$archive"
tree=$work/lathwork-$version
user=$work/user
mkdir -p "$user"/{c,c++,python,rust,tests}
tar -C "$user" -xf "$archive"
cp -r "$tree/debian/tests" "$user/debian-tests"
cp -r "$tree/tests/install" "$user/tests/install"
cp "$tree/packaging/Containerfile" "$user"
block "$tree/doc/install.md" c >"$user/c/quickstart.c"
block "$tree/doc/install.md" cpp >"$user/c++/quickstart.cpp"
block "$tree/doc/install.md" python >"$user/python/quickstart.py"
block "$tree/doc/install.md" rust >"$user/rust/main.rs"
# what doc/install.md says: | C | `install` | `run` |
awk -F '`' '/^\| (C|C\+\+|Python|Rust) \| `/ { split($1, name, /[| ]+/); print tolower(name[2]) "\t" $2 "\t" $4 }' "$tree/doc/install.md" >"$user/lines"
(($(wc -l <"$user/lines") == 4)) || fail "doc/install.md has not one install line for each of C, C++, Python and Rust"
for language in c c++ python rust; do
	count=$(grep -cvE '^ *(//.*|/\*.*\*/|#[^i].*|[{}]*)$' "$user/$language"/*)
	((count <= 12)) || fail "doc/install.md's program in $language has $count lines of code"
	printf '%s\t%s\n' "$language" "$count" >>"$work/counts"
done
cp "$user/lines" "$work/promised"
: >"$work/skipped"

# --- a fresh Debian, which waits until there is something to install ---
cat >"$work/use" <<-END
	#!/bin/sh
	set -e
	touch "$work/made"
	until [ -e "$work/ready" ]; do
		[ -e "$work/use" ] && kill -0 $$ || exit 1
		sleep 0.2
	done
	cp -r "$user" "\$1/user"
	chroot "\$1" bash /user/tests/install/fresh_root.sh
END
chmod +x "$work/use"
include=(cargo cmake g++ gcc libc6-dev make pkg-config python3-venv redis-server)
[[ ! $long ]] || include+=(linux-headers-amd64)
root use "${include[@]}" >"$output/use.log" 2>&1 &
making=$!

# --- packages, where there is no git ---
export GIT_DIR=/nonexistent CCACHE_BASEDIR=$work
if [[ $long ]]; then
	cat >"$work/build" <<-END
		#!/bin/sh
		set -e
		cp -r "$tree" "$work/lathwork_$version.orig.tar.gz" "\$1/tmp"
		chroot "\$1" sh -c 'cd /tmp/lathwork-$version && apt-get -qq build-dep -y --no-install-recommends . && dpkg-buildpackage -us -uc'
		cp "\$1"/tmp/*lathwork*_* "\$1"/tmp/*forrest*_* "$work"
		cp -r "\$1/tmp/lathwork-$version"/obj-* "$tree"
	END
	chmod +x "$work/build"
	root build build-essential >"$output/build.log" 2>&1 || fail "dpkg-buildpackage in a fresh Debian (log: $output/build.log)"
else
	# without the debug information of the command, a third of the time
	(cd "$tree" && DEB_CXXFLAGS_APPEND=-g0 dpkg-buildpackage -us -uc) >"$output/build.log" 2>&1 ||
		fail "dpkg-buildpackage (log: $output/build.log)"
fi
rm -f "$output"/*.deb
cp "$work"/*.deb "$work"/*.dsc "$work"/*.debian.tar.* "$work"/*.changes "$output"
ok "packages from $(basename "$archive")"
for package in liblathwork0.3 libforrest0.3; do
	if grep -A 400 "dpkg-gensymbols: warning.*debian/$package.symbols" "$output/build.log" | grep -E '^[-+] '; then
		fail "debian/$package.symbols is not what the library exports"
	fi
done
ok "debian/*.symbols are what the libraries export"
"$tree/tools/abi-check" --built "$tree"/obj-* >"$output/abi.txt" 2>&1 || fail "$(cat "$output/abi.txt")"
ok "$(paste -sd ';' "$output/abi.txt" | sed 's/;/; /g')"
"$tree/tools/release" check versions >"$output/release.txt" 2>&1 || fail "$(cat "$output/release.txt")"
[[ $("$tree/tools/release" notes) ]] || fail "tools/release has no notes of $version"
ok "one version everywhere, and notes of it"

# The archive has debian/ in it. Not for upload to Debian: there a first version closes a bug, and new ones are looked for.
lintian --profile debian --allow-root --fail-on error,warning,info \
	--suppress-tags no-debian-changes,initial-upload-closes-no-bugs,debian-watch-file-is-missing "$work"/*.changes >"$output/lintian.txt" 2>&1 &
linting=$!

# --- the wheel, by Debian's Python ---
/usr/bin/python3 -m venv "$work/venv"
rm -f "$output"/*.whl
if (unset GIT_DIR && "$work/venv/bin/pip" --disable-pip-version-check wheel --no-deps -w "$user" "$tree/python") >"$output/wheel.log" 2>&1; then
	cp "$user"/*.whl "$output"
	ok "wheel $(basename "$user"/*.whl)"
	# what an index would refuse of its description
	if "$work/venv/bin/pip" --disable-pip-version-check install -q twine >"$output/twine.log" 2>&1; then
		if "$work/venv/bin/twine" check --strict "$user"/*.whl >>"$output/twine.log" 2>&1; then
			ok "twine check"
		else
			fail "twine check (log: $output/twine.log)"
		fi
	else
		skip twine "it cannot be fetched"
	fi
elif offline "$output/wheel.log"; then
	skip python "what builds the wheel cannot be fetched"
else
	fail "pip wheel ./python (log: $output/wheel.log)"
fi
wait "$linting" || fail "lintian: $(head -n 10 "$output/lintian.txt")"
ok "lintian"

[[ $long ]] || echo "skipped: packages: kernel modules, the build in a fresh Debian: test-packages long"

# --- the four users ---
cp "$work"/*.deb "$user"
rm -f "$user"/*-dbgsym_*
touch "$work/ready"
if ! wait "$making"; then
	making=
	if [[ -e $work/made ]] || ! offline "$output/use.log"; then
		fail "$(tail -n 15 "$output/use.log") (log: $output/use.log)"
	fi
	while IFS=$'\t' read -r language _; do
		skip "$language" "Debian's archive cannot be reached"
	done <"$work/promised"
else
	making=
	grep '^ok ' "$output/use.log"
	tried=$(grep -c '^ok ' "$output/use.log")
	((tried == $(wc -l <"$user/lines") + 6)) || fail "not everything was tried (log: $output/use.log)"
	passed=$((passed + tried))
fi
{
	printf '%-8s%-52s%-7s%s\n' user "one line installs" lines "the program prints"
	while IFS=$'\t' read -r language install _; do
		answer=$(sed -n "s/^answer\t$language\t//p" "$output/use.log")
		: "${answer:=$(sed -n "s/^$language\t//p" "$work/skipped")}"
		printf '%-8s%-52s%5d  %s\n' "$language" "$install" "$(sed -n "s/^$language\t//p" "$work/counts")" "$answer"
	done <"$work/promised"
} | tee "$output/users.txt" | sed 's/^/proof: /'
echo "$passed passed, 0 failed"

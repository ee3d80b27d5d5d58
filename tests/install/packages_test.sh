#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# packages_test.sh OUTPUT [long]: the source archive builds without git into Debian packages, which lintian accepts; in a
# fresh Debian 12 they install, the programs of README.md run after README.md's own install lines, and debian/tests pass. The
# packages are left in OUTPUT.
# long: the wheel and the crate too, the kernel modules for Debian's kernel, and the build itself in a fresh Debian with no
# more than Build-Depends.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source=$(realpath "$here/../..")
mkdir -p "$1"
output=$(realpath "$1")
long=${2-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0

fail() {
	printf '%s\n' "FAILED: $*" "$passed passed, 1 failed" >&2
	exit 1
}
ok() {
	passed=$((passed + 1))
	printf 'ok %5d s  %s\n' "$SECONDS" "$*"
}

# root INCLUDE... -- COMMAND...: a Debian 12 with these packages; the command gets its directory as last argument, while it lasts
root() {
	local include=
	while [[ $1 != -- ]]; do
		include+=,$1
		shift
	done
	shift
	printf '#!/bin/sh\nexec %s "$1"\n' "$(printf '%q ' "$@")" >"$work/hook"
	chmod +x "$work/hook"
	mmdebstrap --quiet --variant=apt --include="${include#,}" --format=null --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/info/*' --customize-hook="$work/hook" bookworm /dev/null
}

# block FILE LANGUAGE: the first code of that kind in the chapter
block() { awk -v begin="^\`\`\`$2\$" '/^```$/ && on { exit } on; $0 ~ begin { on = 1 }' "$1"; }

# --- packages, from the archive, where there is no git ---
archive=$("$source/tools/release" archive "$output")
version=$(basename "$archive" .tar.gz)
version=${version#lathwork-}
cp "$archive" "$work/lathwork_$version.orig.tar.gz"
tar -C "$work" -xf "$archive"
tree=$work/lathwork-$version
export GIT_DIR=/nonexistent
if [[ $long ]]; then
	cat >"$work/build" <<-END
		#!/bin/sh
		set -e
		cp -r "$work/lathwork-$version" "$work/lathwork_$version.orig.tar.gz" "\$1/tmp"
		chroot "\$1" sh -c 'cd /tmp/lathwork-$version && apt-get -qq build-dep -y --no-install-recommends . && dpkg-buildpackage -us -uc'
		cp "\$1"/tmp/*lathwork* "\$1"/tmp/*forrest* "$work" 2>/dev/null || true
	END
	chmod +x "$work/build"
	root build-essential -- "$work/build" >"$output/build.log" 2>&1 || fail "dpkg-buildpackage in a fresh Debian (log: $output/build.log)"
else
	(cd "$tree" && dpkg-buildpackage -us -uc) >"$output/build.log" 2>&1 || fail "dpkg-buildpackage (log: $output/build.log)"
fi
rm -f "$output"/*.deb
cp "$work"/*.deb "$work"/*.dsc "$work"/*.debian.tar.* "$work"/*.changes "$output"
ok "packages from $(basename "$archive")"
for package in liblathwork0.1 libforrest0.1; do
	if grep -A 400 "dpkg-gensymbols: warning.*debian/$package.symbols" "$output/build.log" | grep -E '^[-+] '; then
		fail "debian/$package.symbols is not what the library exports: tools/abi-check --fix"
	fi
done
ok "debian/*.symbols are what the libraries export"

# The archive has debian/ in it. Not for upload to Debian: there a first version closes a bug, and new ones are looked for.
lintian --profile debian --allow-root --fail-on error,warning,info \
	--suppress-tags no-debian-changes,initial-upload-closes-no-bugs,debian-watch-file-is-missing "$work"/*.changes >"$output/lintian.txt" 2>&1 || fail "lintian: $(head -n 10 "$output/lintian.txt")"
ok "lintian"

# --- a user's machine ---
user=$work/user
mkdir -p "$user"/{c,c++,python,rust}
cp "$work"/*.deb "$user"
rm -f "$user"/*-dbgsym_*
cp -r "$tree/debian/tests" "$user/debian-tests"
cp "$tree/packaging/Containerfile" "$user"
mkdir "$user/tests"
cp -r "$tree/tests/install" "$user/tests/install"
block "$tree/README.md" c >"$user/c/quickstart.c"
block "$tree/README.md" cpp >"$user/c++/quickstart.cpp"
block "$tree/README.md" python >"$user/python/quickstart.py"
block "$tree/README.md" rust >"$user/rust/main.rs"
# what README.md says: | C | `install` | `run` |
awk -F '`' '/^\| (C|C\+\+|Python|Rust) \| `/ { split($1, name, /[| ]+/); print tolower(name[2]) "\t" $2 "\t" $4 }' "$tree/README.md" >"$user/lines"
(($(wc -l <"$user/lines") == 4)) || fail "README.md has not one install line for each of C, C++, Python and Rust"
while IFS= read -r count; do
	((count <= 12)) || fail "a quickstart of README.md has $count lines of code"
done < <(for file in "$user"/{c,c++,python,rust}/*; do grep -cvE '^ *(//.*|/\*.*\*/|#[^i].*|[{}]*)$' "$file"; done)

include=(cmake g++ gcc libc6-dev make pkg-config redis-server)
if [[ $long ]]; then
	include+=(cargo linux-headers-amd64 python3-venv)
	python3 -m venv "$work/venv"
	(cd "$tree" && unset GIT_DIR && "$work/venv/bin/pip" --disable-pip-version-check wheel --no-deps -w "$user" ./python) >"$output/wheel.log" 2>&1 ||
		fail "pip wheel ./python (log: $output/wheel.log)"
	cp "$user"/*.whl "$output"
	ok "wheel $(basename "$user"/*.whl)"
	"$work/venv/bin/pip" --disable-pip-version-check --quiet install 'conan>=2,<3'
	"$tree/tests/install/conan_test.sh" "$work/venv/bin/conan" >"$output/conan.log" 2>&1 || fail "$(tail -n 15 "$output/conan.log")"
	ok "Conan: the consumer project with packaging/conan"
	cmake -DPORT="$tree/packaging/vcpkg/lathwork" -DWORK="$work/vcpkg" -P "$tree/tests/install/vcpkg_port.cmake" >"$output/vcpkg.log" 2>&1 ||
		fail "$(tail -n 15 "$output/vcpkg.log")"
	installed=$work/vcpkg/installed
	PKG_CONFIG_PATH=$installed/lib/pkgconfig LD_LIBRARY_PATH=$installed/lib "$tree/tests/install/consumer.sh" "$work/vcpkg/use" \
		-DCMAKE_PREFIX_PATH="$installed" || fail "the consumer project with packaging/vcpkg"
	ok "packaging/vcpkg, with stand-ins for vcpkg: the consumer project"
	cp -r "$tree" "$user"
	# the crates that ours needs, for a root without network
	(cd "$tree/rust" && cargo vendor --locked "$user/crates" >"$user/cargo.toml") 2>"$output/vendor.log" || fail "cargo vendor (log: $output/vendor.log)"
	sed -i "s|$user/crates|/user/crates|" "$user/cargo.toml"
else
	sed -i '/^\(python\|rust\)/d' "$user/lines"
	echo "skipped: packages: Python and Rust, kernel modules, the build in a fresh Debian: test-packages long"
fi
cat >"$work/use" <<-END
	#!/bin/sh
	set -e
	cp -r "$user" "\$1/user"
	chroot "\$1" bash /user/tests/install/fresh_root.sh
END
chmod +x "$work/use"
root "${include[@]}" -- "$work/use" >"$output/use.log" 2>&1 || fail "$(tail -n 15 "$output/use.log") (log: $output/use.log)"
grep '^ok ' "$output/use.log"
passed=$((passed + $(grep -c '^ok ' "$output/use.log")))
(($(grep -c '^ok ' "$output/use.log") >= $(wc -l <"$user/lines") + 6)) || fail "not everything was tried (log: $output/use.log)"
echo "$passed passed, 0 failed"

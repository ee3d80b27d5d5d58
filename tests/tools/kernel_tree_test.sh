#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# kernel_tree_test.sh: `make -C kernel` builds beside the sources: git sees none of what it makes, and `clean` removes it
# all; without headers both say or do what they can. One module and a source of the library stand for all.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

headers=$(find /usr/src -maxdepth 1 -name 'linux-headers-*-amd64' ! -name '*-rt-*' ! -name '*-cloud-*' 2>/dev/null | sort -V | tail -n 1)
if [[ ! $headers ]] || ! command -v git >/dev/null; then
	echo "skipped: needs git and kernel headers (package linux-headers-amd64)"
	exit 77
fi

# the sources alone, in their own repository
tar -C "$root" --exclude='*.o' --exclude='*.ko' --exclude='.*.cmd' -cf - .gitignore include src kernel tests | tar -C "$work" -xf -
cd "$work"
git init -q .
git add -A
git -c user.name=test -c user.email=test@example.org commit -qm all

untracked() { git status --porcelain --untracked-files "$@"; }

[[ -z $(untracked --ignored) ]] || fail "before a build there is $(untracked --ignored | head -n 3)"
make -C "$headers" M="$work/kernel" KBUILD_MODPOST_WARN=1 skiplist_test.ko ../src/tree/call/lookup.o >build.log 2>&1 ||
	fail "$(tail -n 5 build.log)"
rm build.log
# what a whole build adds
touch kernel/{Module.symvers,modules.order,lathwork.mod.c,lathwork.mod} kernel/.{modules.order,Module.symvers}.cmd
[[ -f kernel/skiplist_test.ko && -n $(find src -name '.lookup.o*.cmd') ]] || fail "the build made neither module nor object"
made=$(untracked --ignored | wc -l)
((made >= 12)) || fail "a build makes $made files"
[[ -z $(untracked) ]] || fail "git sees what a build makes: $(untracked | head)"
make -C kernel clean >/dev/null || fail "make clean"
[[ -z $(untracked --ignored) ]] || fail "make clean leaves $(untracked --ignored | head)"

# without headers: one sentence, and clean works
if said=$(make -C kernel --no-print-directory KDIR="$work/none" 2>&1); then fail "a build without headers succeeds"; fi
[[ $said == "make -C kernel: $work/none has no kernel headers; "*KDIR=DIRECTORY$'\n'* ]] || fail "without headers: $said"
make -C kernel clean KDIR="$work/none" >/dev/null || fail "make clean needs headers"
echo "nothing is left in the tree"

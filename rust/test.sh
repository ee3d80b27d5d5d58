#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# test.sh [miri]: the crates; then lathwork-sys as a package, which compiles what tools/amalgamate has put into it. miri: what of
# the crates calls no C, by Miri.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sources=lathwork-sys/csrc code=0
export CARGO_TARGET_DIR=$PWD/build/rust
cd rust
if [[ ${1-} == miri ]]; then
	cargo +nightly miri --version >/dev/null 2>&1 || { echo "skipped: miri: rustup component add --toolchain nightly miri rust-src" && exit; }
	MIRIFLAGS=-Zmiri-permissive-provenance exec cargo +nightly miri test --locked -p lathwork --lib -- code:: key:: lock:: retired:: value::
fi
if ! cargo fetch --locked; then
	echo "skipped: rust: its crates cannot be fetched"
	exit
fi
if cargo fmt --version >/dev/null 2>&1; then
	cargo fmt --all --check && cargo fmt --manifest-path bench/Cargo.toml --check || code=$?
fi
tests=$(cargo test --offline --locked --features serde,store --no-fail-fast 2>&1) || code=$?
echo "$tests"
if cargo clippy --version >/dev/null 2>&1; then
	cargo clippy --offline --locked --features serde,store -- -D warnings || code=$?
fi
RUSTDOCFLAGS='-D warnings' cargo doc --offline --locked --no-deps --features serde,store || code=$?
awk '/^test result:/ { good += $4; bad += $6 } END { print good + 0 " passed, " bad + 0 " failed" }' <<<"$tests"
../tools/amalgamate --output "$sources"
cargo package --offline --locked --allow-dirty -p lathwork-sys || code=$?
rm -r "$sources"
exit "$code"

#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# run.sh [HISTORIES [SEED]]: records histories of each structure (history.c) and lets Porcupine judge them (check/), with the library
# of the preset small-nodes, whose nodes have four entries, and with that of release. One history in ten is judged once more with a
# wrong result in it, which must be seen. Needs Go; without it nothing is judged, and that is said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
histories=${1-20000} seed=${2-$RANDOM} code=0
work=$PWD/build/porcupine
if ! command -v go >/dev/null; then
	echo "skipped: porcupine: go is not there (https://go.dev, Debian: golang-go)"
	exit
fi
mkdir -p "$work"
(cd tests/porcupine/check && GOFLAGS=-mod=readonly go build -o "$work/check" .) || exit
echo "seed $seed"
for build in release small-nodes; do
	cmake --preset $build >/dev/null
	cmake --build --preset $build --target lathwork >/dev/null
	cc -O2 -Iinclude -Itests tests/porcupine/history.c build/$build/src/liblathwork.a -pthread -lxxhash -o "$work/history-$build"
	for structure in index bytes store space locks; do
		echo -n "$build, "
		"$work/history-$build" $structure "$seed" "$histories" | "$work/check" $structure || code=1
		"$work/history-$build" $structure "$seed" $((histories / 10)) | "$work/check" $structure broken >"$work/broken" ||
			{ echo "wrong results are not seen: $(<"$work/broken")" && code=1; }
	done
done
exit $code

#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# first.sh: what a stranger wants to see, within minutes. DIR and RESUME: ./run --help
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
results=build/results logs=build/logs lath=build/release/bin/lath
dir=${DIR:-/usr/share} code=0
echo "extents of $dir"
"$lath" extents "$dir" --json "$results/extents.json" || code=$?
((code == 0 || code == 3)) || exit "$code" # 3: some files may not be read
echo
echo "measuring all tables, two minutes or three"
"$lath" bench all --quick --brief --parameter window_ms=15 --parameter fill_ms=100 \
	--json "$results/bench.json" ${RESUME:+--resume} >"$results/bench.txt"
echo
if "$lath" report --setup >"$logs/report.log" 2>&1; then
	"$lath" report "$results/bench.json" --output "$results"
else
	echo "no report: its Python packages cannot be installed (log: $logs/report.log)"
fi
cat <<END

open        $results/report.html      charts, published figures beside yours, intervals
or read     $results/bench.txt        all medians and ratios, and how noisy the machine was
next        $lath extents / --at 1000000b           which file owns this block?
            ./run bench index                       all sizes and peers, seven repetitions
            $lath bench --help                      threads, sizes
            ./run test                              every check
            doc/install.md                          programs of twelve lines
END

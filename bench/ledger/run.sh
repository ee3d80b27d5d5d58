#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# run.sh [--record VERSION]: the tables that the ledger has, by AVX2, the instructions that most machines have. With three
# runs one row of 112 seemed to fall between runs of one build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[[ $# == 0 || ($# == 2 && $1 == --record) ]] || { echo "run: bench ledger: there is --record VERSION" >&2 && exit 1; }
json=(build/results/ledger{0..4}.json)
for file in "${json[@]}"; do
	build/release/bin/lath bench index ranges sort --quick --brief --n 1e5 --isa avx2 --json "$file" >"${file%.json}.txt"
done
if (($#)); then exec python3 -B bench/ledger/compare.py --record "bench/ledger/$2.json" "${json[@]}"; fi
exec python3 -B bench/ledger/compare.py "$(find bench/ledger -name '*.json' | sort -V | tail -n 1)" "${json[@]}"

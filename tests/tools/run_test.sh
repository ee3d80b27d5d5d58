#!/bin/bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# run_test.sh: the stages of `./run`: what each line of tools/stages must have, what the short run and the whole one contain,
# which run side by side, what an interrupt ends, what the log of a stage counts as, and that an unknown name is refused.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
run=$root/run
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

# a stage comes after those that are listed before it, so that none wait for each other
before=,-,
while read -r name runs seconds busy after packages command; do
	[[ $name && $name != '#'* ]] || continue
	[[ $runs =~ ^[a-z0-9,-]+$ && $seconds =~ ^([0-9]+|-)$ && $busy =~ ^[12]$ && $command ]] || fail "tools/stages: $name: a column is wrong"
	[[ $before != *,$name,* ]] || fail "tools/stages: $name is there twice"
	for one in ${after//,/ }; do
		[[ $before == *,$one,* ]] || fail "tools/stages: $name comes after $one, which is not before it"
	done
	for one in ${packages//,/ }; do
		grep -qE "^\[(.* )?$one( .*)?\]$" "$root/tools/packages" || fail "tools/stages: $name: tools/packages has no group $one"
	done
	before+=$name,
done <"$root/tools/stages"
while read -r name runs seconds _; do
	[[ ,$runs, =~ ,(quick|all|ci), && $seconds != - ]] || fail "$name: in CI, and belongs to no run or has no budget"
done < <("$run" test --list)
short=$("$run" test --list | awk '$2 ~ /quick/ { n += $3 } END { print n }')
((short <= 480)) || fail "./run test has a budget of $short s; it is to take eight minutes"
if said=$("$run" test bogus 2>&1); then fail "a stage named bogus is accepted"; fi
[[ $said == *bogus*check* ]] || fail "./run test bogus says: $said"

# with other stages: they keep three processors busy together, no less and no more, and none begins before what it comes after
mkdir "$work/tools"
cp "$run" "$work"
cp "$root/tools/tally" "$work/tools"
ln -s /bin/true "$work/tools/need"
cat >"$work/tools/stages" <<-END
	one   all 10 1 -       build  echo +one >>$work/order; sleep 1; echo -one >>$work/order
	both  all 10 2 -       build  echo +both >>$work/order; sleep 0.3; echo -both >>$work/order; each "echo 2 passed, 1 failed" false
	more  all 10 2 -       build  echo +more >>$work/order; sleep 0.1; echo -more >>$work/order
	two   all 10 1 -       build  echo +two >>$work/order; sleep 0.1; echo -two >>$work/order; echo 4 passed, 0 failed
	last  all 10 1 one     build  echo +last >>$work/order; echo "skipped: this: why"; echo -last >>$work/order
	waits ci  10 1 -       build  echo \$BASHPID >>$work/order; sleep 300
END
if said=$("$work/run" test all); then fail "a stage fails, ./run test all does not: $said"; fi
got=$(xargs <"$work/order")
[[ $got == "+one +both -both +more -more +two -two -one +last -last" ]] || fail "the stages ran in the order $got"
for line in "one +1 passed" "both +2 passed +1 failed" "two +4 passed .*left: one last" "9 passed, 1 failed, 1 skipped" "  skipped: this: why"; do
	grep -qE "^$line" <<<"$said" || fail "no line like $line in: $said"
done
[[ $("$work/run" --help) == *"all build kinds, each stage once; about 1 minutes"* ]] || fail "another budget than a minute"
: >"$work/order"
"$work/run" test waits waits >"$work/said" 2>&1 &
until [[ -s $work/order ]]; do sleep 0.1; done
kill -TERM $!
code=0 since=$SECONDS
wait $! || code=$?
[[ $code == 130 && $((SECONDS - since)) -lt 100 && $(grep -c "stage waits was interrupted" "$work/said") == 1 && $(wc -l <"$work/order") == 1 ]] || fail "an interrupted run says, with exit code $code: $(<"$work/said")"
for ((i = 0; i < 50; i++)); do
	kill -0 -- "-$(<"$work/order")" 2>/dev/null || break
	sleep 0.1
done
((i < 50)) || fail "a stage goes on after the run was interrupted"

log=$work/log
# counts CODE EXPECTED SKIPPED: of the log on standard input
counts() {
	local got
	cat >"$log"
	got=$("$root/tools/tally" "$log" "$1" | awk 'NR == 1 { counts = $0 } END { print counts ", " NR - 1 }')
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

#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: other loads would take CPU time from one of the two runs
#
# `why --without`: what it says would remain of a wait is compared with a second run that really has
# no culprit: for a CPU, a lock, and an answer through a pipe. Prints the difference, as a share of
# the wait.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "waits without their culprit" "stacks of sleeps need BPF"

# waits HOW [without]: milliseconds of the wait, in $waited; the load goes on until it is waited for
waits() {
	rm -f "$work/waited"
	in_background "$loads/load_without" "$@" >"$work/waited"
	wait_for 20 test -s "$work/waited"
	waited=$(cat "$work/waited")
}

# differs HOW: the difference in percent of the wait, in $percent
differs() {
	rec_start -a --preset waits
	waits "$1"
	path=$(dump_now --comm victim)
	rec_stop
	"$RINGBACK" why --json --comm victim --without hog-1 "$path" >"$work/why.json"
	wait "$bg_pid"
	waits "$1" without
	wait "$bg_pid"
	rest=$(jq '.without.remaining_ns / 1e6' "$work/why.json")
	all=$(jq '.without.wait_ns / 1e6' "$work/why.json")
	percent=$(awk -v a="$rest" -v b="$waited" -v all="$all" 'BEGIN { d = a - b; printf "%d", 100 * (d < 0 ? -d : d) / (all + 0.001) }')
	echo "# $1: waited $all ms; without hog-1: $rest ms by the dump, $waited ms in a second run; they differ by $percent % of the wait"
	rm -f "$path"
}

for how in cpu lock pipe; do
	# Once more where something else took the CPU.
	for ((i = 0; i < 3; i++)); do
		differs $how
		[ "${percent:-100}" -gt 20 ] || break
	done
	check "$how: the prediction and the second run differ by at most 20 %" test "${percent:-100}" -le 20
	check "$how: the wait was there" test "$(jq '.without.wait_ns > 2e8' "$work/why.json")" = true
done

rec_start -a --preset waits
path=$(dump_now)
rec_stop
"$RINGBACK" why --without nothing-has-this-name --pid $$ "$path" >/dev/null 2>"$work/err"
check "a culprit that is not in the dump is an error" test $? = 1 -a -s "$work/err"
tap_end

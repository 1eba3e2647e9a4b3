#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: another test would wake the recorder
#
# Idle rules cost nothing: with one rule of each kind that the kernel watches, the recorder is not
# woken while the watched things happen all the time below their thresholds. Rules that poll do so
# together, at most once a second.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

storm=$loads/load_storm
channel="-C $pair -m 64K -e sched:sched_process_exit"

wakeups() {
	"$RINGBACK" status --json | jq '.sideband.wakeups'
}

nr_hits() {
	"$RINGBACK" status --json | jq '.totals.hits'
}

# The thread that reads /proc at the start may run on after recording has begun.
has_read_proc() {
	[ "$(cat /proc/"$rec_pid"/task/*/comm | grep -cx ringback)" = 1 ]
}

# sleeping SECONDS COMMAND...: sets $switched, the recorder's context switches meanwhile, without
# those explained by the sideband, which records processes that others start
sleeping() {
	local seconds=$1 switched0 wakeups0

	shift
	wait_for 20 has_read_proc
	sleep 0.3
	wakeups0=$(wakeups)
	switched0=$(switches)
	in_background "$@"
	sleep "$seconds"
	switched=$(($(switches) - switched0))
	switched=$((switched - 2 * ($(wakeups) - wakeups0)))
	kill "$bg_pid" 2>/dev/null
	wait "$bg_pid" 2>/dev/null
}

touch "$work/app.log"
sleep 1000 &
watched=$!
disown "$watched"

watched_by_the_kernel() {
	# shellcheck disable=SC2086
	rec_start $channel -T "latency:$storm:storm_hit>500ms" -T 'syscall:getppid>500ms' -T 'runqueue:load_storm>5s' \
		-T 'offcpu:load_storm>5s' -T 'event:sched:sched_switch[prev_pid==-7]' -T "uprobe:/bin/bash:readline" \
		-T crash:load_storm -T oom -T 'psi:io:full>999ms/1s' -T 'psi:memory:some>500ms/1s' -T "exit:$watched" \
		-T "file:$work/app.log~ERROR" -T signal:USR1 -T stall:2s || cat "$work/err"
	sleeping 8 "$storm" 10000000 100000
	echo "# $switched context switches in 8 s, beside the sideband's"
	check "nothing that is fast enough, or something else, wakes the recorder" test "$switched" -le 5
	equal "and nothing is hit" 0 "$(nr_hits)"
	"$RINGBACK" status | sed -n '/^trigger /,/^$/s/^/# /p'
	rec_stop
}

looked_at() {
	# shellcheck disable=SC2086
	rec_start $channel -T 'mem:available<1M' -T 'mem:free<1M' -T 'load>5000' -T "rss:$watched>2G" -T "cpu:$watched>95%/5s" \
		-T 'rate:context-switches>90000000/s' -T every:1h || cat "$work/err"
	sleeping 10 "$storm" 10000000 1000
	echo "# $switched context switches in 10 s, beside the sideband's"
	# One wake-up and sleep is one voluntary switch; an interruption may add one.
	check "seven rules that look look at most once a second together" test "$switched" -le 20
	equal "and nothing is hit" 0 "$(nr_hits)"
	rec_stop
}

side_by_side watched_by_the_kernel looked_at
kill "$watched"
tap_end

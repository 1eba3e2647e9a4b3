#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of recorder.sh
#
# In the guest: compact records on this kernel. They are the same events as in perf's rings, also of a CPU
# that goes off and on, and which wake-ups came from interrupts is the same.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

events=sched:sched_switch,sched:sched_wakeup,sched:sched_waking,sched:sched_wakeup_new,sched:sched_migrate_task

is_compact() {
	"$RINGBACK" status --json | jq -c "[.channels[] | select(.name == \"$1\") | .compact]"
}

# both LOAD...: while it runs, one recorder has the events in both forms; they are in the dumps
# $compact and $perf
both() {
	"$RINGBACK" record --config /dev/null --memory 0 -q -a --preset life -o "$work/perf" --name perf \
		--channel "sched:$events;size=8M" >"$work/perf.out" 2>"$work/perf.err" &
	other=$!
	wait_for 50 "$RINGBACK" status --name perf >"$work/status"
	rec_start -a --name compact --preset life --channel "sched:$events;size=4M;records=compact"
	"$@" >"$work/load" 2>&1
	"$RINGBACK" trigger --name perf >"$work/perf.path" &
	compact=$("$RINGBACK" trigger --name compact)
	wait $!
	perf=$(cat "$work/perf.path")
	kill $other
	wait $other
	rec_stop
}

# same NAME [CPU]: CPU is left out
same() {
	local cpu=${2-}

	check "$1: perf has no event that is not in the compact dump" \
		eval 'python3 tests/compare/compact_same.py "$RINGBACK" "$compact" "$perf" $cpu >"$work/same" || { cat "$work/same"; false; }'
	tail -n 1 "$work/same" | sed "s/^/# $1: /"
}

# A shell of its own: it waits for its children only.
storm() {
	bash -c 'for i in {1..50}; do /bin/true; done; for i in {1..10}; do head -c 100000 /dev/zero | wc -c & done; wait'
}

plug() {
	storm
	echo 0 >/sys/devices/system/cpu/cpu1/online
	storm
	echo 1 >/sys/devices/system/cpu/cpu1/online
	storm
}


rec_start -a
equal "the default preset is compact" '[true]' "$(is_compact sched)"
rec_stop
both storm
same storm
both plug
same "a CPU goes and comes" 1
check "what it recorded before is in the dump" test "$("$RINGBACK" info --json "$compact" | jq '[.rings[] | select(.cpu == 1 and .samples > 0 and (.flags | index("offline")))] | length')" -ge 1
tap_end

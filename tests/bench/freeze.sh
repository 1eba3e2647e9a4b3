#!/bin/bash
# SPDX-License-Identifier: MIT
#
# From the signal to the last ring paused, and the skew between rings: 100 dumps under load, the default preset
# and one channel; beside an idle machine.
. tests/bench/lib.sh

# freezes NAME RECORD-OPTION...
freezes() {
	local name=$1

	shift
	rec_start --config /dev/null "$@"
	"$loads/tool_freeze" "$rec_pid" "$work/out" 100 >"$work/us"
	rec_stop
	cut -d' ' -f1 "$work/us" >"$work/signal"
	cut -d' ' -f2 "$work/us" >"$work/skew"
	row "$name: signal to last ring paused" "$(median "$work/signal")" us \
		"median of 100; 90 % $(percentile 90 "$work/signal"), max $(max "$work/signal")"
	row "$name: skew between rings" "$(median "$work/skew")" us "median of 100; max $(max "$work/skew")"
}

freezes "idle, one channel" -a -m 1M -e sched:sched_switch,sched:sched_wakeup
in_background "$loads/load_switch" 600 >/dev/null
freezes "scheduler storm, one channel" -a -m 1M -e sched:sched_switch,sched:sched_wakeup
freezes "scheduler storm, default preset" -a
kill "$bg_pid"
in_background "$loads/load_count" 600 >/dev/null
in_background "$loads/load_count" 600 >/dev/null
freezes "all CPUs busy, one channel" -a -m 1M -e sched:sched_switch,sched:sched_wakeup
freezes "all CPUs busy, default preset" -a

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Reading: events a second of `ringback script` and `perf script` over what each has recorded of the same scheduler
# storm, to /dev/null; time of `info`; peak memory of `script`.
. tests/bench/lib.sh

export PERF_CONFIG=/dev/null
events='sched:sched_switch,sched:sched_wakeup'

# seconds COMMAND...
seconds() {
	local t0=$EPOCHREALTIME

	"$@" >/dev/null 2>&1
	echo "$EPOCHREALTIME $t0" | awk '{ printf "%.4f\n", $1 - $2 }'
}

in_background "$loads/load_switch" 900 >/dev/null
rec_start --config /dev/null -a -m 32M -e "$events"
sleep 3
path=$(dump_now)
rec_stop
with_tracefs perf record -q --overwrite -c 1 -m 8192 -a -e "$events" -o "$work/perf.data" -- sleep 3 2>/dev/null
kill "$bg_pid"
ours=$("$RINGBACK" script "$path" | wc -l)
perfs=$(with_tracefs perf script -i "$work/perf.data" 2>/dev/null | wc -l)
for _ in 1 2 3 4 5; do
	seconds "$RINGBACK" script "$path" >>"$work/ours"
	seconds with_tracefs perf script -i "$work/perf.data" >>"$work/perf"
	seconds "$RINGBACK" info "$path" >>"$work/info"
done
# rate EVENTS FILE
rate() {
	awk -v n="$1" -v s="$(median "$2")" 'BEGIN { printf "%d", n / s }'
}
row "ringback script" "$(rate "$ours" "$work/ours")" events/s "$ours events"
row "perf script" "$(rate "$perfs" "$work/perf")" events/s "$perfs events"
row "ratio" "$(awk -v a="$(rate "$ours" "$work/ours")" -v b="$(rate "$perfs" "$work/perf")" 'BEGIN { printf "%.1f", a / b }')" times
row "ringback info of that dump" "$(awk -v s="$(median "$work/info")" 'BEGIN { printf "%.1f", s * 1000 }')" ms \
	"$(stat -c %s "$path") bytes"
row "ringback script: peak memory" \
	"$( { /usr/bin/time -f %M "$RINGBACK" script "$path" >/dev/null; } 2>&1)" KiB

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What recording costs while nothing happens. The recorder's own: context switches and CPU time over 10 s of more than
# 100,000 events a second, resident memory. The load's: switches a second with nothing, with ringback, with
# `perf record --overwrite -c 1` of the same events, in turn, five times.
. tests/bench/lib.sh

export PERF_CONFIG=/dev/null
events='sched:sched_switch,sched:sched_wakeup'

# How many round trips the storm makes in 2 s.
trips() {
	"$loads/load_switch" 2 | awk '/trips/ { print $2 }'
}

with_ringback() {
	rec_start --config /dev/null -a -m 1M -e "$events"
	trips
	rec_stop
}

with_perf() {
	with_tracefs perf record -q --overwrite -c 1 -m 256 -a -e "$events" -o "$work/perf.data" -- \
		"$loads/load_switch" 2 2>/dev/null | awk '/trips/ { print $2 }'
}

for _ in 1 2 3 4 5; do
	trips >>"$work/alone"
	with_ringback >>"$work/ours"
	with_perf >>"$work/perf"
done
alone=$(median "$work/alone")
# percent FILE
percent() {
	awk -v a="$alone" -v b="$(median "$1")" 'BEGIN { printf "%.1f", 100 * (1 - b / a) }'
}
row "storm: round trips in 2 s alone" "$alone" trips
row "storm with ringback recording it" "$(percent "$work/ours")" "% slower"
row "storm with perf record --overwrite -c 1" "$(percent "$work/perf")" "% slower"

rec_start --config /dev/null -a
in_background "$loads/load_switch" 60 >/dev/null
sleep 1
before=$(switches)
ticks=$(cpu_ticks "$rec_pid")
sleep 10
row "recorder: context switches in 10 s" $(($(switches) - before)) switches "default preset, storm of scheduler events"
row "recorder: CPU time in 10 s" $((($(cpu_ticks "$rec_pid") - ticks) * 1000 / $(getconf CLK_TCK))) ms
row "recorder: resident memory" "$(awk '/VmRSS/ { print $2 }' /proc/"$rec_pid"/status)" KiB "$(awk '/RssAnon/ { print $2 }' /proc/"$rec_pid"/status) KiB of it its own"
kill "$bg_pid"
rec_stop

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How much history a MiB of ring holds: sched_switch and sched_wakeup events, beside `perf record --overwrite -c 1`
# with rings of the same size under the same load, in turn, three times.
. tests/bench/lib.sh

export PERF_CONFIG=/dev/null

# ours KIND: with records of this kind
ours() {
	rec_start --config /dev/null -a --channel "sched:sched:sched_switch,sched:sched_wakeup;size=1M;records=$1"
	sleep 2
	path=$(dump_now)
	rec_stop
	"$RINGBACK" info --json "$path" | jq '([.rings[].samples] | add) / (([.rings[].ring_bytes] | add) / 1048576) | floor'
	rm -f "$path"
}

# perf needs tracefs mounted: in a mount namespace of its own.
perfs() {
	with_tracefs perf record -q --overwrite -c 1 -m 256 -a -e sched:sched_switch,sched:sched_wakeup \
		-o "$work/perf.data" -- sleep 2 >/dev/null 2>&1
	with_tracefs perf script -i "$work/perf.data" -F event 2>/dev/null | awk -v cpus="$(nproc)" '
		/sched:/ { n++ }
		END { printf "%d\n", n / cpus }'
}

in_background "$loads/load_switch" 600 >/dev/null
for _ in 1 2 3; do
	ours compact >>"$work/ours"
	ours perf >>"$work/rings"
	perfs >>"$work/perfs"
done
row "ringback: events per MiB of ring" "$(median "$work/ours")" events
row "ringback, records=perf" "$(median "$work/rings")" events
row "perf record --overwrite -c 1" "$(median "$work/perfs")" events
row "ratio" "$(echo "scale=2; $(median "$work/ours") / $(median "$work/perfs")" | bc)" times "goal 7"

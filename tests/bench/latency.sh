#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What others on the machine feel of a dump: on each CPU a thread that wants to run each 250 us, an ordinary one and one
# with real-time priority, over 300 ms in which a dump of 2 x 16 MiB of full rings is made, or none, or perf's of the same
# events. How late they were, over all rounds; the kinds in turn.
. tests/bench/lib.sh
. tests/bench/lib_dump.sh

: "${ROUNDS:=12}"
kinds=("ours, no dump" "ours" "ours --max-dump-cpus 2" "perf" "perf -z")

in_background "$loads/load_switch" 3600 >/dev/null
load=$bg_pid
for ((i = 0; i < ROUNDS; i++)); do
	for k in "${!kinds[@]}"; do
		# shellcheck disable=SC2086 # who, and options
		record ${kinds[k]%,*}
		kill -CONT "$load"
		sleep 3
		kill -STOP "$load"
		taskset -c "$pair" "$loads/load_latency" 300 >"$work/late" &
		feeling=$!
		wait_for 10 grep -q ready "$work/late"
		[ "$k" = 0 ] || dump
		wait "$feeling"
		record_end
		for policy in other fifo; do
			sed -n "s/^$policy //p" "$work/late" >>"$work/$policy.$k"
		done
		[ "$k" = 0 ] || echo "$dump_ms" >>"$work/ms.$k"
	done
done

# us PERCENT FILE
us() {
	percentile "$1" "$2" | awk '{ printf "%.1f", $1 / 1000 }'
}
for policy in other fifo; do
	for k in "${!kinds[@]}"; do
		row "SCHED_${policy^^}, ${kinds[k]}" "$(us 99.9 "$work/$policy.$k")" us \
			"99.9 % of $(wc -l <"$work/$policy.$k"); 99 % $(us 99 "$work/$policy.$k"), max $(us 100 "$work/$policy.$k")$(
				[ "$k" = 0 ] || echo "; dump in $(median "$work/ms.$k") ms"
			)"
	done
done
kill "$load"
kill -CONT "$load"

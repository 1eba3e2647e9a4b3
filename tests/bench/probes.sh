#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a rule on the latency of a function costs each call of it: a function that does nothing, called CALLS times, with no
# probe; with a latency: rule (two probes, decided in the kernel); with perf record of the same two probes, which writes a
# sample at both; and with perf record that has the function as its --switch-output-event. The kinds in turn, ROUNDS times.
. tests/bench/lib.sh

: "${ROUNDS:=7}" "${CALLS:=200000}"
calls=$(realpath "$loads/load_calls")
kinds=("no probe" "latency: rule" "latency: rule;while-running" "perf record, uprobe+uretprobe" "perf --switch-output-event")

# ns a call of the function
time_calls() {
	echo | chrt -f 10 "$calls" time "$CALLS" | sed -n 2p
}

ours() {
	rec_start -p $$ -m 64K -e sched:sched_switch -T "latency:$calls:calls_one>100ms$1"
	time_calls
	rec_stop
}

# theirs ARG...: perf record, in the background
theirs() {
	local perf

	# Not by with_tracefs: that would be a shell in between, and the pid is to be perf's.
	# shellcheck disable=SC2016 # evaluated there
	unshare --mount --propagation private bash -c 'mount -t tracefs none /sys/kernel/tracing && exec perf record "$@"' theirs \
		-q -B -a -o "$work/perf.data" -c 1 "$@" >"$work/perf" 2>&1 &
	perf=$!
	sleep 1.5
	time_calls
	kill -TERM $perf
	wait $perf 2>/dev/null
	rm -f "$work"/perf.data*
}

# trace LINE..: into tracefs' list of probes
trace() {
	# shellcheck disable=SC2016 # evaluated there
	with_tracefs bash -c 'for l; do echo "$l" >>/sys/kernel/tracing/uprobe_events || exit; done' trace "$@"
}

# A position-independent file with code at the address equal to its offset.
offset=0x$(nm "$calls" | sed -n 's/^\([0-9a-f]*\) T calls_one$/\1/p')
at_end=("trace -:ringback_bench/one -:ringback_bench/one_end" "${at_end[@]}")
trace "p:ringback_bench/one $calls:$offset" "r:ringback_bench/one_end $calls:$offset"
for ((i = 0; i < ROUNDS; i++)); do
	time_calls >>"$work/0"
	ours '' >>"$work/1"
	ours ';while-running' >>"$work/2"
	theirs -e 'ringback_bench:*' >>"$work/3"
	theirs --overwrite -e sched:sched_switch --switch-output-event ringback_bench:one >>"$work/4"
done
none=$(median "$work/0")
for k in "${!kinds[@]}"; do
	row "${kinds[k]}" "$(median "$work/$k")" ns \
		"a call, $(echo "$(median "$work/$k") - $none" | bc) more than without; max $(max "$work/$k") of $(wc -l <"$work/$k")"
done

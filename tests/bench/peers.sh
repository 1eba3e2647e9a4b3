#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ringback beside other recorders that overwrite the oldest events: its compact records, its records=perf, `perf record
# --overwrite -c 1`, ftrace's ring. All record the same four scheduler events of all CPUs into rings of the same size.
# $ROUNDS (10) rounds, in each every recorder in turn, in another order. One table, and the same in bench-peers.json.
#
#	PEERS="overhead idle dumps processes"     only some parts
. tests/bench/lib.sh

if [ "${1-}" != with_tracefs ]; then
	with_tracefs bash "$0" with_tracefs
	exit
fi

. tests/bench/lib_dump.sh
. tests/bench/lib_load.sh
. tests/bench/lib_servers.sh

rounds=${ROUNDS:-10}
few=$((rounds < 3 ? rounds : 3)) # of what varies little or takes long
dump_events=$switches,sched:sched_migrate_task
dump_cpus=(-a)
kinds=(ringback records=perf perf ftrace)
ftrace=/sys/kernel/tracing/instances/ringback-$$
at_end+=('[ ! -d "$ftrace" ] || rmdir "$ftrace"')
TIMEFORMAT=%R

# put MEASURE UNIT VALUE: of $kind in $round
put() {
	printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$kind" "$round" "$3" >>"$work/values"
}

# in_turn FUNCTION ARG...: for each recorder as $kind; the first one is another in each round
in_turn() {
	local k

	for k in "${!kinds[@]}"; do
		kind=${kinds[(k + round) % ${#kinds[@]}]}
		"$@"
	done
}

# ---- recorders ----

# An instance of its own: what others trace goes on.
ftrace_start() {
	local event

	mkdir "$ftrace" || exit
	echo $((dump_mib * 1024)) >"$ftrace/buffer_size_kb" || exit
	for event in ${dump_events//,/ }; do
		echo 1 >"$ftrace/events/${event/:/\/}/enable" || exit
	done
}

start() {
	dump_records=perf
	case $kind in
	ringback) dump_records=compact && record ours ;;
	records=perf) record ours ;;
	perf) record perf -k CLOCK_MONOTONIC ;;
	ftrace) ftrace_start ;;
	esac
}

stop() {
	case $kind in
	none) ;;
	ftrace) rmdir "$ftrace" ;;
	*) record_end ;;
	esac
}

# ms_since TIME: a value of EPOCHREALTIME
ms_since() {
	awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", (b - a) * 1000 }'
}

# ---- overhead ----

load_pipe() {
	put "sched pipe, 200,000 trips" s "$(perf bench -f simple sched pipe -l 200000)"
}

load_syscalls() {
	put "3,000,000 system calls" s "$(perf bench -f simple syscall basic -l 3000000)"
}

load_faults() {
	put "page fault" ns "$("$loads/load_touch" 100)"
}

load_compile() {
	rm -rf "$work/o"
	put "parallel compile" s "$({ time make O="$work/o" CC=gcc -j$(($(nproc) + 1)) "$work/o/libdump.a" >/dev/null 2>&1; } 2>&1)"
}

# load_server NAME
load_server() {
	local rps p50 p99 p999

	read -r rps p99 p50 p999 < <("$1_load")
	put "$1: requests" /s "$rps"
	put "$1: p50" ms "$p50"
	put "$1: p99" ms "$p99"
	put "$1: p99.9" ms "$p999"
}

all_loads() {
	local server

	start
	load_pipe
	load_syscalls
	load_faults
	load_compile
	for server in "${servers[@]}"; do
		load_server "$server"
	done
	stop
}

overhead() {
	local server servers=() pids=()

	for server in redis nginx; do
		if ! command -v $server-server $server >/dev/null; then
			echo "$server is not installed"
			continue
		fi
		${server}_start
		servers+=("$server")
		pids+=("$bg_pid")
	done
	for ((round = 0; round < rounds; round++)); do
		kind=none
		all_loads
		in_turn all_loads
	done
	kill "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
}

# ---- the recorder itself ----

idle_5s() {
	local rec_pid before ticks

	[ "$kind" != ftrace ] || return # has no process
	start
	rec_pid=$dumper_pid
	sleep 1
	before=$(switches)
	ticks=$(cpu_ticks "$rec_pid")
	sleep 5
	put "recorder: context switches in 5 s of storm" "" $(($(switches) - before))
	put "recorder: CPU time in 5 s of storm" ms $((($(cpu_ticks "$rec_pid") - ticks) * 1000 / $(getconf CLK_TCK)))
	stop
}

idle() {
	storm
	for ((round = 0; round < few; round++)); do
		in_turn idle_5s
	done
	end_group
}

# ---- full rings, and what is read from them ----

# Context switches of the machine.
switched() {
	awk '/^ctxt/ { print $2 }' /proc/stat
}

switched_to() {
	[ "$(switched)" -ge "$1" ]
}

# Waits until all rings have been overwritten. perf does not say so, but a context switch is at least 100 bytes there, with
# the wake-up; some more, since the storm may leave a CPU for a while.
fill() {
	if [ "$kind" = ringback ] || [ "$kind" = records=perf ]; then
		wait_for 120 full
	else
		wait_for 120 switched_to $(($(switched) + $(nproc) * (dump_mib * 1048576 / 50 + 100000)))
	fi
}

# dump_rows MS FILE
dump_rows() {
	put "dump of $dump_mib MiB a CPU: time" ms "$1"
	put "dump of $dump_mib MiB a CPU: file" MB "$(stat -c %s "$2" | awk '{ printf "%.2f", $1 / 1e6 }')"
}

# read_rows COMMAND...: prints one event a line
read_rows() {
	local s

	[ "$dump_mib" = 16 ] || return
	if ! s=$(set -o pipefail && { time "$@" 2>/dev/null | wc -l >"$work/lines"; } 2>&1); then
		echo "$1 did not read its dump to the end; round $round is without it" >&2
		return
	fi
	put "history per MiB of ring" events "$(awk -v m=$((dump_mib * $(nproc))) '{ printf "%.0f", $1 / m }' "$work/lines")"
	put "reading as text" events/s "$(awk -v s="$s" '{ printf "%.0f", $1 / s }' "$work/lines")"
}

# freeze_rows FROZEN-US STILL-US
freeze_rows() {
	put "dump in a storm: frozen after" us "$1"
	put "dump in a storm: nothing recorded for" us "$2"
}

# ---- dumps by signal ----

signalled_dump() {
	dump
	dump_rows "$dump_ms" "$dump_file"
	case $kind in
	perf) read_rows perf script -i "$dump_file" -F comm,tid,cpu,time,event,trace ;;
	*) read_rows "$RINGBACK" script "$dump_file" ;;
	esac
}

ours_info() { # FILE FILTER
	"$RINGBACK" info --json "$1" | jq "$2 / 1e3 | floor"
}

# Sorted times of the events, in s.
perf_times() ( # FILE
	set -o pipefail
	perf script -i "$1" -F time --ns 2>/dev/null | sort -g
)

# A dump in the storm and one after it. ringback says when the rings were frozen and how long each recorded nothing;
# of perf the events say it: the newest of the first dump, the oldest of the second.
signalled_freeze() {
	local asked_ns newest oldest

	asked_ns=$(python3 -c 'import time; print(time.time_ns() - time.monotonic_ns())')
	ask_dump
	kill -STOP -- "-$bg_pid"
	asked_ns=$((${dump_asked/./}000 - asked_ns))
	mv "$dump_file" "$work/first"
	ask_dump
	if [ "$kind" = perf ]; then
		if ! perf_times "$work/first" >"$work/times" || ! perf_times "$dump_file" >"$work/times2"; then
			echo "perf did not read its dumps to the end; round $round is without them" >&2
			return
		fi
		newest=$(tail -n 1 "$work/times") oldest=$(head -n 1 "$work/times2")
		freeze_rows "$(awk -v a="$asked_ns" -v b="${newest%:*}" 'BEGIN { printf "%.0f", (b * 1e9 - a) / 1e3 }')" \
			"$(awk -v a="${newest%:*}" -v b="${oldest%:*}" 'BEGIN { printf "%.0f", (b - a) * 1e6 }')"
	else
		freeze_rows "$(ours_info "$work/first" "((.trigger.time | tonumber) + .stats.signal_ns - $asked_ns)")" \
			"$(ours_info "$dump_file" '([.rings[].gap_ns, 0] | max)')"
	fi
}

# ---- dumps of ftrace ----

# As trace-cmd does it: the pages as they are, which takes them out of the ring.
ftrace_save() {
	local cpu

	for cpu in "$ftrace"/per_cpu/cpu*; do
		dd if="$cpu/trace_pipe_raw" bs=4096 iflag=nonblock 2>/dev/null
	done >"$work/first"
}

ftrace_dump() {
	local asked

	echo 0 >"$ftrace/tracing_on"
	read_rows cat "$ftrace/trace"
	asked=$EPOCHREALTIME
	ftrace_save
	sync "$work/first"
	dump_rows "$(ms_since "$asked")" "$work/first"
	echo 1 >"$ftrace/tracing_on"
}

# Nothing is recorded until all is saved.
ftrace_freeze() {
	local asked=$EPOCHREALTIME frozen_ms still_ms

	echo 0 >"$ftrace/tracing_on"
	frozen_ms=$(ms_since "$asked")
	ftrace_save
	still_ms=$(ms_since "$asked")
	kill -STOP -- "-$bg_pid"
	freeze_rows "$(awk -v ms="$frozen_ms" 'BEGIN { printf "%.0f", ms * 1e3 }')" \
		"$(awk -v ms="$still_ms" 'BEGIN { printf "%.0f", ms * 1e3 }')"
}

# ---- dumps ----

one_dump() {
	local how=signalled

	[ "$kind" != ftrace ] || how=ftrace
	start
	fill
	kill -STOP -- "-$bg_pid"
	${how}_dump
	kill -CONT -- "-$bg_pid"
	if [ "$dump_mib" = 16 ]; then
		fill
		${how}_freeze
		kill -CONT -- "-$bg_pid"
	fi
	stop
}

dumps() {
	storm
	for dump_mib in 16 1 4 64; do
		for ((round = 0; round < few; round++)); do
			in_turn one_dump
		done
	done
	end_group
}

# ---- processes ----

# beside COUNT
beside() {
	local asked=$EPOCHREALTIME

	start
	put "beside $1 processes: ready after" ms "$(ms_since "$asked")"
	[ "$kind" = ftrace ] ||
		put "beside $1 processes: own memory" KiB "$(awk '/RssAnon|RssShmem/ { n += $2 } END { print n }' "/proc/$dumper_pid/status")"
	stop
}

processes() {
	local count

	dump_mib=1
	for count in 10 100 1000 10000; do
		rm -f "$work/many"
		in_group "tail -f /dev/null | '$loads/load_many' $count >'$work/many'"
		wait_for 120 grep -q ready "$work/many"
		for ((round = 0; round < few; round++)); do
			in_turn beside $count
		done
		end_group
		# shellcheck disable=SC2016 # for eval
		wait_for 60 eval '! pgrep -g $bg_pid >/dev/null'
	done
}

for part in ${PEERS:-overhead idle dumps processes}; do
	dump_mib=1
	$part
done
tests/bench/peers.py "$work/values" "$RINGBACK_BUILD/bench-peers.json" "${kinds[@]}"
echo
echo "Medians, with the interval of the middle half; $rounds rounds of the overhead, $few of the others."
echo "Rings of the same size on each CPU; ringback has two of each, and records into one while it dumps the other."

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sourced, after lib.sh, by the benchmarks that make dumps beside perf's: recorders with a ring of $dump_mib on each of
# $dump_cpus, and dumps of them, from the signal until the whole file is on the disk.
#
#	record ours --compress high       or: record perf -z; what it records: $dump_events; $dumper_pid
#	dump                              $dump_asked (when, in s), $dump_file, $dump_ms, $dump_bytes
#	record_end

export PERF_CONFIG=/dev/null
dump_events='sched:sched_switch,sched:sched_wakeup'
dump_cpus=(-C "$pair")
dump_mib=16
dump_records=perf # or compact: how ours writes them
mkfifo "$work/said" "$work/control" "$work/ack"
exec 5<>"$work/said" 6<>"$work/control" 7<>"$work/ack"

# said TEXT: waits for a line with it from the recorder; $line
said() {
	while read -r -t 120 -u 5 line; do
		[[ $line != *"$1"* ]] || return 0
	done
	echo "nothing was heard of '$1'" >&2
	exit 1
}

# run_recorder COMMAND...: $dumper_pid; it is below other commands, so it says itself who it is
run_recorder() {
	# shellcheck disable=SC2016 # for the inner shell
	with_tracefs bash -c 'echo "pid $$" && exec "$@"' run_recorder "$@" >&5 2>&1 </dev/null &
	dumper_shell=$!
	said 'pid '
	dumper_pid=${line#pid }
}

# record ours|perf OPTION...: returns once it records
record() {
	local who=$1

	shift
	if [ "$who" = perf ]; then
		mkdir "$work/perf"
		# -B, --no-bpf-event: some perf crash on build-ids that are longer than theirs, and stop reading at a program's.
		run_recorder perf record --overwrite --switch-output=signal -c 1 -m $((dump_mib * 256)) "${dump_cpus[@]}" \
			-e "$dump_events" -B --no-bpf-event --control "fifo:$work/control,$work/ack" -o "$work/perf/data" "$@"
		echo ping >&6
		read -r -t 120 -u 7
		dump_said='Dump '
	else
		run_recorder "$RINGBACK" record --config /dev/null "${dump_cpus[@]}" -o "$work/dumps" \
			--channel "all:${dump_events/page-faults/page-faults/period=1/};size=${dump_mib}M;records=$dump_records" "$@"
		said 'ringback: recording'
		dump_said=.rbd
	fi
}

# Until the recorder says that the file is written.
ask_dump() {
	dump_asked=$EPOCHREALTIME
	kill -USR2 "$dumper_pid"
	said "$dump_said"
	dump_file=${line#*Dump }
	dump_file=${dump_file% ]}
}

dump() {
	ask_dump
	# perf leaves that to others; of ours nothing is left to be done.
	sync "$dump_file"
	dump_ms=$(echo "$EPOCHREALTIME $dump_asked" | awk '{ printf "%.1f", ($1 - $2) * 1000 }')
	dump_bytes=$(stat -c %s "$dump_file")
}

# perf makes a last dump, and says so. The dumps are deleted.
record_end() {
	kill -TERM "$dumper_pid"
	wait "$dumper_shell"
	while read -r -t 0.1 -u 5 line; do :; done
	rm -rf "$work/perf" "$work"/dumps/*
}

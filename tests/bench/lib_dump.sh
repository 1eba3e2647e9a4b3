#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sourced, after lib.sh, by the benchmarks that make dumps beside perf's: recorders with a ring of 16 MiB on each of two
# CPUs, and dumps of them, from the signal until the whole file is on the disk.
#
#	record ours --compress high       or: record perf -z; what it records: $dump_events
#	dump                              $dump_ms, $dump_bytes
#	record_end

export PERF_CONFIG=/dev/null
dump_events='sched:sched_switch,sched:sched_wakeup'
mkfifo "$work/said"
exec 5<>"$work/said"

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
	rm -f "$work/pid"
	# shellcheck disable=SC2016 # for the inner shell
	with_tracefs bash -c 'echo $$ >"$0" && exec "$@"' "$work/pid" "$@" >&5 2>&1 </dev/null &
	dumper_shell=$!
	wait_for 60 test -s "$work/pid"
	dumper_pid=$(cat "$work/pid")
}

# record ours|perf OPTION...
record() {
	local who=$1

	shift
	if [ "$who" = perf ]; then
		mkdir "$work/perf"
		run_recorder perf record --overwrite --switch-output=signal -c 1 -m 4096 -C "$pair" -e "$dump_events" \
			-o "$work/perf/data" "$@"
		wait_for 60 test -s "$work/perf/data"
		dump_said='Dump '
	else
		run_recorder "$RINGBACK" record --config /dev/null -C "$pair" -m 16M \
			-e "${dump_events/page-faults/page-faults/period=1/}" -o "$work/dumps" "$@"
		said 'ringback: recording'
		dump_said=.rbd
	fi
}

dump() {
	local t0=$EPOCHREALTIME file

	kill -USR2 "$dumper_pid"
	said "$dump_said"
	file=${line#*Dump }
	file=${file% ]}
	# perf leaves that to others; of ours nothing is left to be done.
	sync "$file"
	dump_ms=$(echo "$EPOCHREALTIME $t0" | awk '{ printf "%.1f", ($1 - $2) * 1000 }')
	dump_bytes=$(stat -c %s "$file")
	rm "$file"
}

# perf makes a last dump, and says so.
record_end() {
	kill -TERM "$dumper_pid"
	wait "$dumper_shell"
	while read -r -t 0.1 -u 5 line; do :; done
	rm -rf "$work/perf"
}

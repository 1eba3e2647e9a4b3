#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Reading: events a second of `ringback script` beside `perf script` with the same fields, to /dev/null, over what each
# has recorded of the same load, runs interleaved: a scheduler storm; a parallel compile with system calls and page faults;
# a server with call chains (perf with the address and symbol of each). Then a dump of more than 100 MB: time of `info`,
# peak memory of `script`.
. tests/bench/lib.sh
. tests/bench/lib_load.sh

export PERF_CONFIG=/dev/null
runs=${RUNS:-5}
TIMEFORMAT='%R %U %S'

# ---- measuring ----

# timed FILE COMMAND...: adds its seconds of wall clock and of CPU
timed() {
	local file=$1

	shift
	{ time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1, $2 + $3 }' >>"$file"
}

# column N FILE: the median of its N-th column
column() {
	awk -v n="$1" '{ print $n }' "$2" >"$work/column"
	median "$work/column"
}

# rate EVENTS FILE, cpu EVENTS FILE: events a second; CPU nanoseconds an event
rate() {
	awk -v n="$1" -v s="$(column 1 "$2")" 'BEGIN { printf "%d", n / s }'
}

cpu() {
	awk -v n="$1" -v s="$(column 2 "$2")" 'BEGIN { printf "%d ns of CPU each", s * 1e9 / n }'
}

# compare NAME EVENTS PERF-FIELDS ARG...: the load NAME; ARG (-g) is for both records
compare() {
	local name=$1 events=$2 fields=$3 path ours perfs

	shift 3
	"$name"
	rec_start -a -m 16M -e "$events" "$@"
	wait_for 60 full
	path=$(dump_now)
	rec_stop
	# -B: some perf crash on build-ids that are longer than theirs.
	with_tracefs perf record -q -B --overwrite -c 1 -m 4096 -a -e "$events" "$@" -o "$work/perf.data" -- sleep 10 2>/dev/null
	end_group
	ours=$("$RINGBACK" script --json "$path" | wc -l)
	perfs=$(with_tracefs perf script -i "$work/perf.data" -F time 2>/dev/null | wc -l)
	if [ "$perfs" = 0 ]; then
		echo "perf has recorded nothing of $name" >&2
		exit 1
	fi
	rm -f "$work/ours" "$work/perf"
	for ((i = 0; i < runs; i++)); do
		timed "$work/ours" "$RINGBACK" script "$path"
		timed "$work/perf" with_tracefs perf script -i "$work/perf.data" -F "$fields"
	done
	row "$name: ringback script" "$(rate "$ours" "$work/ours")" events/s "$ours events, $(cpu "$ours" "$work/ours")"
	row "$name: perf script" "$(rate "$perfs" "$work/perf")" events/s "$perfs events, $(cpu "$perfs" "$work/perf")"
	row "$name: ratio" "$(awk -v a="$(rate "$ours" "$work/ours")" -v b="$(rate "$perfs" "$work/perf")" \
		'BEGIN { printf "%.1f", a / b }')" times
	rm -f "$path" "$work/perf.data"
}

# peak ARG...: KiB resident at most, of ringback ARG...
peak() {
	{ /usr/bin/time -f %M "$RINGBACK" "$@" >/dev/null; } 2>&1
}

fields=comm,tid,cpu,time,event,trace

compare storm "$switches" "$fields"
compare compile "$switches,$calls,$faults" "$fields"
if have_server; then
	compare server "$switches,$calls" "$fields,ip,sym" -g
else
	row "server: redis-server is not installed" - -
fi

# What can't be made much smaller, half a gigabyte of rings in all.
in_group "exec '$loads/load_noise' 900"
rec_start -a -m "$((512 / $(nproc)))M" --banks 1 -e 'raw_syscalls:sys_enter[comm=="load_noise"]'
wait_for 60 full
path=$(dump_now)
rec_stop
end_group
for ((i = 0; i < runs; i++)); do
	timed "$work/info" "$RINGBACK" info "$path"
done
row "dump of $(($(stat -c %s "$path") >> 20)) MiB: info" "$(awk -v s="$(column 1 "$work/info")" 'BEGIN { printf "%.0f", s * 1000 }')" ms
row "peak memory of script" "$(peak script "$path")" KiB "$("$RINGBACK" info --json "$path" |
	jq '[.rings[].records] | add') events"
row "peak memory of script --json" "$(peak script --json "$path")" KiB

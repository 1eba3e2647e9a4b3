#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Unwinding copied stacks of 8 KiB, by ringback and by perf of the same samples: what export -f perf makes of the dump. How
# many stacks are whole, the time to unwind and name them, and that of whole commands, of a program with short stacks
# (tests/load/unwind/chain.c) and of an interpreter with deep ones. perf without inlined functions, which take it much longer.
# BENCH_SECONDS: how long to record. Medians of $RUNS runs.
. tests/bench/lib.sh

export PERF_CONFIG=/dev/null
runs=${RUNS:-5}
rate=4999
seconds=${BENCH_SECONDS:-5}
TIMEFORMAT='%R %U %S'

# timed FILE COMMAND...: the wall clock and CPU seconds of each run, a line each
timed() {
	local file=$1 i

	shift
	for ((i = 0; i < runs; i++)); do
		{ time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1, $2 + $3 }' >>"$file"
	done
}

# wall FILE, cpu FILE: the median
wall() {
	cut -d' ' -f1 "$1" >"$work/column"
	median "$work/column"
}

cpu() {
	cut -d' ' -f2 "$1" >"$work/column"
	median "$work/column"
}

percent() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b ? a / b * 100 : 0 }'
}

# a_row NAME FILE [FILE]: seconds, of CPU too; how much longer the second took
a_row() {
	row "$1" "$(wall "$2")" s "$(cpu "$2") s of CPU"
	[ -z "${3-}" ] || row "$1: perf" "$(wall "$3")" s "$(awk -v w="$(wall "$2")" -v c="$(cpu "$2")" -v w2="$(wall "$3")" \
		-v c2="$(cpu "$3")" 'BEGIN { printf "%s s of CPU: %.1f times as long, %.1f times the CPU", c2, w2 / w, c2 / c }')"
}

# perf_whole: stacks of `perf script -F ip,sym` that reach _start, of how many
perf_whole() {
	awk 'BEGIN { RS = "" } { n++ } /_start\n|_start$/ { whole++ } END { print whole + 0, n }'
}

# compare NAME COMMAND...
compare() {
	local name=$1 path load samples whole perfs perf_all i

	shift
	in_background "$@" >"$work/load"
	load=$bg_pid
	wait_for 20 grep -q ready "$work/load"
	rec_start -p "$load" --channel "d:cpu-clock/freq=$rate/;stack=dwarf:8K;size=256M"
	sleep "$seconds"
	path=$(dump_now)
	rec_stop
	kill "$load"
	wait "$load" 2>/dev/null

	"$loads/tool_stack" "$path" >"$work/stacks"
	samples=$(wc -l <"$work/stacks")
	whole=$(awk -F '\t' '$3 == ""' "$work/stacks" | wc -l)
	"$RINGBACK" export -f perf -o "$work/perf.data" "$path" || exit 1
	read -r perfs perf_all < <(with_tracefs perf script --no-inline -i "$work/perf.data" -F ip,sym 2>/dev/null | perf_whole)
	if [ "${perf_all:-0}" = 0 ] || [ "$samples" = 0 ]; then
		echo "nothing was recorded of $name: $samples, ${perf_all:-0}" >&2
		exit 1
	fi
	row "$name: frames a stack" "$(awk -F '\t' '{ n += $2 } END { printf "%.1f", n / NR }' "$work/stacks")" frames
	row "$name: stacks that are whole" "$(percent "$whole" "$samples")" % "of $samples"
	row "$name: stacks that are whole: perf" "$(percent "$perfs" "$perf_all")" % "of $perf_all"
	rm -f "$work"/time.*
	timed "$work/time.folded" "$RINGBACK" export -f folded --force -o /dev/null "$path"
	timed "$work/time.script" "$RINGBACK" script "$path"
	timed "$work/time.perf-script" with_tracefs perf script --no-inline -i "$work/perf.data" -F ip,sym
	timed "$work/time.perf-report" with_tracefs perf report --no-inline --no-children --stdio -i "$work/perf.data"
	timed "$work/time.bare" with_tracefs perf script --no-inline -G -i "$work/perf.data" -F ip,sym
	for ((i = 0; i < runs; i++)); do
		"$loads/tool_stack" "$path" times | awk '{ print $3, $3 }' >>"$work/time.unwind"
	done
	awk -v n="$samples" -v c="$(cpu "$work/time.unwind")" -v p="$(cpu "$work/time.perf-script")" \
		-v b="$(cpu "$work/time.bare")" 'BEGIN { printf "%.2f %.2f %.1f\n", c / n * 1e6, (p - b) / n * 1e6, (p - b) / c }' \
		>"$work/each"
	row "$name: CPU to unwind and name a stack" "$(cut -d' ' -f1 "$work/each")" us "without reading"
	row "$name: CPU to unwind and name a stack: perf" "$(cut -d' ' -f2 "$work/each")" us \
		"$(cut -d' ' -f3 "$work/each") times; perf script with call chains, less the same without"
	a_row "$name: script" "$work/time.script" "$work/time.perf-script"
	a_row "$name: export -f folded, perf report" "$work/time.folded" "$work/time.perf-report"
	rm -f "$path" "$work/perf.data"
}

gcc -O2 -g0 -fomit-frame-pointer -fno-optimize-sibling-calls tests/load/unwind/chain.c -o "$work/chain" || exit 1
compare short "$work/chain"
compare deep python3 tests/bench/unwind.py

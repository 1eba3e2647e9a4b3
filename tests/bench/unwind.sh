#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Unwinding copied stacks of 8 KiB: how many stacks are whole, and the time that it takes to give all of them with names, of
# `ringback export -f folded` beside `perf script` and `perf report`, each over what it recorded itself of the same load at the
# same rate: a program with short stacks (tests/unwind/chain.c), an interpreter with deep ones. perf without inlined functions,
# which take it much longer. BENCH_SECONDS: how long to record. The best of $RUNS runs counts.
. tests/bench/lib.sh

export PERF_CONFIG=/dev/null
runs=${RUNS:-5}
rate=4999
seconds=${BENCH_SECONDS:-5}
TIMEFORMAT='%R %U %S'

# best FILE COMMAND...: adds the wall clock and CPU seconds of each run to the file
best() {
	local file=$1 i

	shift
	for ((i = 0; i < runs; i++)); do
		{ time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1, $2 + $3 }' >>"$file"
	done
}

# wall FILE, cpu FILE: the least
wall() {
	sort -g "$1" | head -n 1 | cut -d' ' -f1
}

cpu() {
	cut -d' ' -f2 "$1" | sort -g | head -n 1
}

# each FILE SAMPLES: microseconds a sample, wall clock and CPU
each() {
	awk -v w="$(wall "$1")" -v c="$(cpu "$1")" -v n="$2" \
		'BEGIN { printf "%.2f us each, %.2f us of CPU", w / n * 1e6, c / n * 1e6 }'
}

percent() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b ? a / b * 100 : 0 }'
}

# times FILE SAMPLES FILE SAMPLES: how much longer the second took for a sample, wall clock and CPU
times() {
	awk -v w="$(wall "$1")" -v c="$(cpu "$1")" -v n="$2" -v w2="$(wall "$3")" -v c2="$(cpu "$3")" -v n2="$4" \
		'BEGIN { printf "%.1f times as long as ringback, %.1f times the CPU", w2 / n2 / (w / n), c2 / n2 / (c / n) }'
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
	# -B: some perf crash on build-ids that are longer than theirs.
	with_tracefs perf record -q -B --call-graph dwarf,8192 -m 4096 -F $rate -e cpu-clock -p "$load" \
		-o "$work/perf.data" -- sleep "$seconds" >/dev/null 2>&1
	kill "$load"
	wait "$load" 2>/dev/null

	"$loads/tool_stack" "$path" >"$work/stacks"
	samples=$(wc -l <"$work/stacks")
	whole=$(awk -F '\t' '$3 == ""' "$work/stacks" | wc -l)
	read -r perfs perf_all < <(with_tracefs perf script --no-inline -i "$work/perf.data" -F ip,sym 2>/dev/null | perf_whole)
	if [ "${perf_all:-0}" = 0 ] || [ "$samples" = 0 ]; then
		echo "nothing was recorded of $name: $samples, ${perf_all:-0}" >&2
		exit 1
	fi
	row "$name: frames a stack" "$(awk -F '\t' '{ n += $2 } END { printf "%.1f", n / NR }' "$work/stacks")" frames
	row "$name: stacks that are whole" "$(percent "$whole" "$samples")" % "of $samples"
	row "$name: perf" "$(percent "$perfs" "$perf_all")" % "of $perf_all"
	rm -f "$work"/time.*
	best "$work/time.ours" "$RINGBACK" export -f folded -o /dev/null "$path"
	best "$work/time.script" with_tracefs perf script --no-inline -i "$work/perf.data" -F ip,sym
	best "$work/time.report" with_tracefs perf report --no-inline --no-children --stdio -i "$work/perf.data"
	best "$work/time.bare" with_tracefs perf script --no-inline -G -i "$work/perf.data" -F ip,sym
	for ((i = 0; i < runs; i++)); do
		"$loads/tool_stack" "$path" times | awk '{ print $3, $3 }' >>"$work/time.unwind"
	done
	row "$name: CPU to unwind and name a stack" "$(awk -v c="$(cpu "$work/time.unwind")" -v n="$samples" \
		'BEGIN { printf "%.2f", c / n * 1e6 }')" us "without reading"
	row "$name: perf" "$(awk -v c="$(cpu "$work/time.script")" -v b="$(cpu "$work/time.bare")" -v n="$perf_all" \
		'BEGIN { printf "%.2f", (c - b) / n * 1e6 }')" us "perf script with call chains, less the same without"
	row "$name: ringback export -f folded" "$(wall "$work/time.ours")" s "$(each "$work/time.ours" "$samples")"
	row "$name: perf script" "$(wall "$work/time.script")" s "$(each "$work/time.script" "$perf_all")"
	row "" "" "" "$(times "$work/time.ours" "$samples" "$work/time.script" "$perf_all")"
	row "$name: perf report" "$(wall "$work/time.report")" s "$(each "$work/time.report" "$perf_all")"
	row "" "" "" "$(times "$work/time.ours" "$samples" "$work/time.report" "$perf_all")"
	rm -f "$path" "$work/perf.data"
}

gcc -O2 -g0 -fomit-frame-pointer -fno-optimize-sibling-calls tests/unwind/chain.c -o "$work/chain" || exit 1
compare short "$work/chain"
compare deep python3 tests/bench/unwind.py

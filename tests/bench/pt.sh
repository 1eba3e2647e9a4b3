#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Intel PT: how fast a trace is decoded, beside perf, and how soon the last 10 ms of a large one are on the screen. The trace is
# of a real program that was stepped (tests/tools/tool_pt.c), as often as it takes: BENCH_MB of it, 64 by default. CPU seconds, all on
# one CPU, medians of $RUNS runs, interleaved; perf gets the newest 4 MB, for its time.
. tests/bench/lib.sh

export PERF_CONFIG=/dev/null
runs=${RUNS:-3}
mb=${BENCH_MB:-64}
program=(sort dump/format/FORMAT.md dump/format/PACKED.md)

# step TIMES: the program's trace, so many times over, which ends when a dump was made
step() {
	"$loads/tool_pt" step -q -c "${pair#*,}" -r "$1" -n 2000000 -x "$RINGBACK trigger >$work/path" \
		-o "$work/trace" -l "$work/log" -k "$work/code" -- "${program[@]}" >/dev/null
	[ -s "$work/path" ]
}

# timed FILE COMMAND...: adds its seconds of CPU and of wall clock, on one CPU
timed() {
	local file=$1

	shift
	/usr/bin/time -o "$work/time" -f '%U %S %e' taskset -c 0 "$@" >"$work/text" 2>/dev/null || echo "failed: $*" >&2
	awk 'END { print $1 + $2, $3 }' "$work/time" >>"$file"
}

# mb_per_s BYTES FILE: with the median of its first column
mb_per_s() {
	awk '{ print $1 }' "$2" >"$work/column"
	awk -v b="$1" -v s="$(median "$work/column")" 'BEGIN { printf "%.2f", b / s / 1e6 }'
}

rec_start -a -e cpu-clock/freq=99/ || exit 1
step 1 || exit 1
times=$((mb * 1000000 / $(stat -c %s "$work/trace") + 1))
step $times || exit 1
path=$(cat "$work/path")
rec_stop
"$loads/tool_pt" graft -u -s $((128 << 20)) --cpu 0 "$path" "$work/large.rbd" "$work/trace" "$work/log" || exit 1
"$loads/tool_pt" graft -u -s $((4 << 20)) --cpu 0 "$path" "$work/small.rbd" "$work/trace" "$work/log" || exit 1
"$RINGBACK" export -f perf -o "$work/small.data" "$work/small.rbd" || exit 1
bytes=$(stat -c %s "$work/trace")
row "trace" "$(awk -v b="$bytes" 'BEGIN { printf "%.1f", b / 1e6 }')" MB "$(
	awk -v t="$times" -v b="$bytes" '/^# trace/ { printf "%.0f million instructions, %.2f bits each", t * $4 / 1e6, b * 8 / t / $4 }' "$work/log")"
for ((i = 0; i < runs; i++)); do
	timed "$work/decode" "$loads/tool_ptflow" "$work/trace" "$work/log" "$work/code"
	timed "$work/script" "$RINGBACK" script "$work/small.rbd"
	ours=$(grep -c 'call\|return' "$work/text")
	timed "$work/perf" perf script -i "$work/small.data" --itrace=bcr
	theirs=$(grep -c 'branches' "$work/text")
	timed "$work/last" "$RINGBACK" script --from -10ms "$work/large.rbd"
	last=$(wc -l <"$work/text")
	timed "$work/report" "$RINGBACK" report "$work/large.rbd"
done
row "decoder alone, calls and returns" "$(mb_per_s "$bytes" "$work/decode")" MB/s "of one CPU"
row "ringback script" "$(mb_per_s $((4 << 20)) "$work/script")" MB/s "$ours calls and returns"
row "perf script --itrace=bcr" "$(mb_per_s $((4 << 20)) "$work/perf")" MB/s "$theirs branches: these, begins and ends"
awk '{ print $2 }' "$work/last" >"$work/column"
row "script --from -10ms of all of it" "$(median "$work/column")" s "$last lines; on one CPU"
awk '{ print $2 }' "$work/report" >"$work/column"
row "report of all of it" "$(median "$work/column")" s "on one CPU"

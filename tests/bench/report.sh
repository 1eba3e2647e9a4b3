#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Analysis of a large dump, 100 MB of file by default: `report`, `report --html` and `why`, wall clock, CPU and peak memory,
# runs interleaved, the size of the page, and how quick it is in Chromium; beside `perf report` of what `export -f perf` makes
# of the same dump, run once. The dump is of a parallel compile with call chains of the scheduler and of memory, and system
# calls. BENCH_MB: a smaller one; rings take 20 times as much. BENCH_DUMP: one that is there already. Medians of $RUNS runs.
. tests/bench/lib.sh
. tests/bench/lib_load.sh

export PERF_CONFIG=/dev/null
runs=${RUNS:-5}
mb=${BENCH_MB:-100}

# make_dump: a dump of $mb MB or more, if two minutes are enough for it; $path
make_dump() {
	local part=$((mb * 10 / $(nproc)))

	compile
	rec_start -a --banks 1 \
		--channel "sched:$switches;size=${part}M;stack=fp" --channel "calls:$calls;size=$((2 * part))M" \
		--channel "mem:$faults,kmem:mm_page_alloc;size=${part}M;stack=fp" \
		--channel 'cpu:cpu-clock/freq=999/;size=64M;stack=fp'
	wait_up_to 120 full
	end_group
	path=$(dump_now)
	rec_stop
}

# wait_up_to SECONDS COMMAND...: as wait_for, and goes on
wait_up_to() {
	local end=$((SECONDS + $1))

	shift
	while ((SECONDS < end)) && ! "$@"; do
		sleep 1
	done
}

# timed FILE COMMAND...: adds its seconds of wall clock, of CPU, and KiB at most
timed() {
	local file=$1

	shift
	with_tracefs /usr/bin/time -a -o "$work/time" -f '%e %U %S %M' "$@" >/dev/null 2>&1 || echo "failed: $*" >&2
	awk 'END { print $1, $2 + $3, $4 }' "$work/time" >>"$file"
}

# column N FILE: the median of its N-th column
column() {
	awk -v n="$1" '{ print $n }' "$2" >"$work/column"
	median "$work/column"
}

# result NAME FILE [NOTE]
result() {
	row "$1" "$(column 1 "$2")" s "$(column 2 "$2") s of CPU, $(($(column 3 "$2" | cut -d. -f1) >> 10)) MiB at most${3:+; $3}"
}

path=${BENCH_DUMP-}
[ -n "$path" ] || make_dump
row dump "$(awk -v n="$(stat -c %s "$path")" 'BEGIN { printf "%.1f", n / 1e6 }')" MB \
	"$("$RINGBACK" info --json "$path" | jq '[.rings[].records] | add') events"
for ((i = 0; i < runs; i++)); do
	timed "$work/report" "$RINGBACK" report "$path"
	timed "$work/html" "$RINGBACK" report --html "$work/page.html" --force "$path"
	timed "$work/why" "$RINGBACK" why "$path"
done
result report "$work/report"
result 'report --html' "$work/html" "a page of $(awk -v n="$(stat -c %s "$work/page.html")" 'BEGIN { printf "%.1f", n / 1e6 }') MB"
mkdir "$work/browser"
timeout -k 5 300 node tests/compare/html_storm.js "$work/page.html" "$work/browser" >"$work/page" || echo "failed: the page in Chromium" >&2
row 'its page opens' "$(awk '/^ready/ { print $2 }' "$work/page")" ms
row 'a zoom in it is drawn' "$(awk '/^frame/ { print $2 }' "$work/page")" ms "median of 40, $(awk '/^frame/ { print $4 }' "$work/page") ms at worst"
result why "$work/why"
timed "$work/export" "$RINGBACK" export -f perf -o "$work/perf.data" "$path"
result 'export -f perf' "$work/export"
timed "$work/perf" timeout 900 perf report -i "$work/perf.data" --stdio
result 'perf report of that' "$work/perf" "$(awk -v a="$(column 1 "$work/perf")" -v b="$(column 1 "$work/report")" \
	'BEGIN { printf "%.1f times as long as report", a / b }')"

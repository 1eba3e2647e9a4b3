#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 600
#
# export -f perf, read by perf itself: for three real loads, perf script and perf report of the
# export equal ringback script of the dump, sample by sample. Then the command: where output goes,
# and errors.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

same=tests/compare/perf_same.py

# take NAME LOAD [ARG...]: records the whole system while the shell text LOAD runs; the dump is
# $work/NAME.rbd. Rings are large enough for everything.
take() {
	local path name=$1 load=$2

	shift 2
	"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" --dump-on-exit -n "perf-$name" -a --preset default \
		--channel "stacks:sched:sched_switch,page-faults/period=16/,cpu-clock/freq=199/;size=4M;stack=fp" \
		--channel "calls:raw_syscalls:sys_enter,raw_syscalls:sys_exit;size=4M" \
		"$@" -- bash -c "$load" >"$work/out" 2>"$work/err" </dev/null
	path=$(grep '\.rbd$' "$work/out")
	if [ ! -s "$path" ]; then
		not_ok "$name is recorded" "$(cat "$work/err")"
		return 1
	fi
	mv "$path" "$work/$name.rbd"
}

# Shows perf's messages when it fails.
its() { # FILE ARG...
	local file=$1

	shift
	perf "$@" >"$file" 2>"$work/perf.err" </dev/null || cat "$work/perf.err"
}

# Counts chains with an invalid address in them, for which perf drops the whole chain.
broken_chains() {
	perf script -i "$1" -D 2>/dev/null | awk '
		/ FP chain: nr:/ { chain = 1; bad = 0; next }
		chain && /^\.\.\.\.\. +[0-9]+: / {
			if ($3 ~ /^fffffffffffff[0-9a-f]*$/ && $3 !~ /^ffffffffffffff80$|^fffffffffffffe00$/ && $3 >= "fffffffffffff001")
				bad = 1
			next
		}
		chain { nr += bad; chain = 0 }
		END { print nr + 0 }'
}

# compare NAME: compares all of perf's output for the export with ringback's for the dump
compare() {
	local data=$work/$1.data result

	check "$1: exported" "$RINGBACK" export -f perf -o "$data" "$work/$1.rbd"
	"$RINGBACK" script --json "$work/$1.rbd" >"$work/json"
	"$RINGBACK" script "$work/$1.rbd" >"$work/text"
	its "$work/script" script -i "$data" -F comm,pid,tid,cpu,time,event,ip,sym,symoff,dso --ns --no-inline
	its "$work/report" report -i "$data" --stdio -g none --no-children -n -s comm,pid -w 0,0,64,0 -t '|'
	its "$work/trace" script -i "$data" -F time,event,trace --ns
	check "$1: perf script has the same samples, times, threads, addresses, files and functions" \
		eval 'python3 $same script "$work/json" "$work/script" >"$work/result" || { cat "$work/result"; false; }'
	tail -n 2 "$work/result" | sed "s/^/# $1: /"
	result=$(tail -n 1 "$work/result")
	equal "$1: chains that perf gives up are those with what is no address" "$(broken_chains "$data")" \
		"$(echo "$result" | sed 's/.*, \([0-9]*\) discarded.*/\1/')"
	check "$1: perf report has as many samples of each event, name and thread" \
		python3 $same report "$work/json" "$work/report"
	check "$1: perf prints the same fields of tracepoints" python3 $same fields "$work/text" "$work/trace"
	check "$1: there is something to compare" test "$(wc -l <"$work/json")" -gt 2000
}

take storm 'for i in {1..300}; do /bin/true; done; exec >/dev/null; for i in {1..20}; do ls -l /proc/self | sort & done; wait' &&
	compare storm
take gcc "for i in 1 2; do gcc -O2 -Wall -I. -D_GNU_SOURCE -c -o '$work/o' dump/view/base/text.c; done" \
	--channel "deep:cpu-clock/freq=49/;size=2M;stack=dwarf:4K" && compare gcc
take redis "cd '$work'; redis-server --port 0 --unixsocket '$work/redis' --save '' >/dev/null &
	until [ -S redis ]; do sleep 0.02; done
	redis-benchmark -s '$work/redis' -n 3000 -c 5 -t get,set -q >/dev/null; kill %1; wait" && compare redis

# --- the form for pipes, and parts (without user stacks, which perf unwinds beside chains only from
# files) ---
"$RINGBACK" export -f perf "$work/storm.rbd" >"$work/stdout.data"
check "stdout into a file is the same as -o" cmp "$work/stdout.data" "$work/storm.data"
"$RINGBACK" export -f perf "$work/storm.rbd" | perf script -i - -F comm,tid,time,event,ip,sym --ns >"$work/piped" 2>/dev/null
perf script -i "$work/storm.data" -F comm,tid,time,event,ip,sym --ns >"$work/filed" 2>/dev/null
check "perf says the same of a pipe as of the file" cmp "$work/piped" "$work/filed"
"$RINGBACK" export -f perf "$work/storm.rbd" | perf report -i - --stdio -n -s comm -g none 2>/dev/null | grep -c Samples: >"$work/n"
check "perf report reads a pipe" test "$(cat "$work/n")" -gt 5
"$RINGBACK" export -f perf --from -200ms --to -50ms -o "$work/part.data" "$work/storm.rbd"
"$RINGBACK" script --json --from -200ms --to -50ms "$work/storm.rbd" >"$work/json"
its "$work/script" script -i "$work/part.data" -F comm,pid,tid,cpu,time,event,ip,sym,symoff,dso --ns --no-inline
check "a part has the same samples with the same names" python3 $same script "$work/json" "$work/script"

# --- the header ---
perf script -i "$work/storm.data" --header-only >"$work/header" 2>/dev/null
check "the header has the host" grep -qxF "# hostname : $(hostname)" "$work/header"
check "the kernel's release" grep -qxF "# os release : $(uname -r)" "$work/header"
check "the command line" grep -q '^# cmdline : .*record --config /dev/null' "$work/header"
check "its events by name" grep -q '^# event : name = sched:sched_switch' "$work/header"
check "the clock's time of day" grep -q "^# reference time: $(date -u +%Y)-.* (monotonic)" "$work/header"
check "build-ids of what ran" grep -qE '^[0-9a-f]{40} .*/libc\.so\.6$' <(perf buildid-list -i "$work/storm.data" 2>/dev/null)

# --- the command ---
dump=$work/storm.rbd
equal "the file is its owner's" 600 "$(stat -c %a "$work/storm.data")"
"$RINGBACK" export -f perf -o "$work/storm.data" "$dump" 2>"$work/err"
equal "what is there is not replaced" 1 $?
check "and the option that would is named" grep -q -- --force "$work/err"
: >"$work/old"
check "--force replaces" "$RINGBACK" export -f perf -o "$work/old" --force "$dump"
check "with all of it" cmp "$work/old" "$work/storm.data"
"$RINGBACK" export -f perf -o "$work/none/x" "$dump" 2>"$work/err"
equal "a directory that is not there" 1 $?
"$RINGBACK" export -f perf -o /dev/full "$dump" 2>"$work/err"
equal "a full disk" 1 $?
check "is said" grep -q 'No space left' "$work/err"
"$RINGBACK" export -f prf "$dump" 2>"$work/err"
equal "a format that is not there" 2 $?
"$RINGBACK" export "$dump" 2>/dev/null
equal "no format" 2 $?
script -qec "'$RINGBACK' export -f perf '$dump'" /dev/null >"$work/typescript" </dev/null
check "a terminal gets no bytes but what to type" grep -q 'export -f perf -o storm.perf.data' "$work/typescript"
mkdir "$work/clean"
head -c 100000 "$dump" >"$work/cut.rbd"
"$RINGBACK" export -f perf -o "$work/clean/cut.data" "$work/cut.rbd" 2>/dev/null
equal "of a cut dump what is whole is exported" 3 $?
check "and perf reads it" perf script -i "$work/clean/cut.data" -F time,event
equal "nothing but the file is left" cut.data "$(ls -A "$work/clean")"
tap_end

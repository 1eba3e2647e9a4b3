#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 600
#
# Records written by this machine's kernel under load survive packing byte for byte: ten million of
# a scheduler storm, and system calls, page faults, clock ticks, process starts and ends, call
# chains, registers and stacks of a compilation. tests/tools/tool_pack.c packs and unpacks
# everything in the dumps; tests/compare/unpack.py unpacks a block of each ring.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# field NAME LINE
field() {
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" <<<"$2"
}

# packed NAME MIN-RECORDS DUMP...: all records come back; $result: the tool's line
packed() {
	local name=$1 min=$2

	shift 2
	if ! result=$("$loads/tool_pack" -o "$work/runs" "$@" 2>&1); then
		not_ok "$name: every byte comes back" "$result"
	elif [ "$(field records "$result")" -lt "$min" ]; then
		not_ok "$name: there are $min records" "$result"
	else
		ok "$name: every byte comes back"
		echo "# $result"
	fi
}

# full_dump LOAD BYTES: a dump once that many bytes were written, $path. The load is stopped
# meanwhile, because dumps are made at idle priority.
full_dump() {
	local from

	from=$(written)
	kill -CONT "$1"
	wait_for 60 written_since $((from + $2)) || return 1
	kill -STOP "$1"
	path=$(dump_now)
}

compile() {
	local i

	for ((i = 0; i < $1; i++)); do
		cc -O2 -I. -D_GNU_SOURCE -std=gnu11 -c -o "$work/compiled.o" dump/format/record.c || return 1
	done
}

mkdir "$work/runs"

# Rings on all CPUs, 128 MiB in each dump; a dump is deleted once it was checked.
cpus=$(getconf _NPROCESSORS_ONLN)
ring=1
while ((ring * 2 * cpus <= 128)); do ring=$((ring * 2)); done
bytes=$((ring * cpus << 20))
if rec_start -a -m ${ring}M -e 'sched:sched_switch,sched:sched_wakeup,sched:sched_waking'; then
	in_background "$loads/load_switch" 500 $((cpus * 2)) >"$work/load"
	total=0
	for ((i = 0; i < 20 && total < 10000000; i++)); do
		full_dump "$bg_pid" $bytes || break
		result=$("$loads/tool_pack" "$path" 2>&1) || break
		echo "# $result"
		total=$((total + $(field records "$result")))
		rm "$path"
	done
	kill "$bg_pid"
	kill -CONT "$bg_pid"
	check "ten million records of a scheduler storm come back, $total" test "$total" -ge 10000000
	rec_stop
else
	not_ok "a scheduler storm is recorded" "$(cat "$work/err")"
fi

# Channels of all kinds at once.
if rec_start -a \
	--channel 'cpu:cpu-clock/freq=999/;size=1M;stack=fp' \
	--channel 'sched:sched:*;size=2M' \
	--channel 'switches:sched:sched_switch,sched:sched_wakeup;size=2M;stack=fp' \
	--channel 'calls:raw_syscalls:sys_enter,raw_syscalls:sys_exit;size=2M' \
	--channel 'callers:raw_syscalls:sys_enter;size=2M;stack=fp' \
	--channel 'faults:page-faults/period=1/;size=2M;stack=fp' \
	--channel 'stacks:cpu-clock/freq=997/,page-faults/period=50/;size=4M;stack=dwarf:8192' \
	--channel 'life:sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,signal:*;size=64K'; then
	paths=()
	for ((i = 0; i < 2; i++)); do
		check "a compile, processes that come and go" eval 'compile 3 && "$loads/load_short" 200'
		paths+=("$(dump_now)")
	done
	rec_stop
	packed "a compile with chains and stacks" 20000 "${paths[@]}"
else
	not_ok "a compile is recorded" "$(cat "$work/err")"
fi

# One layout for tracepoints, faults and ticks: each record has the id of its event.
if rec_start -a --channel 'all:cpu-clock/freq=999/,page-faults/period=1/,raw_syscalls:*,sched:*;size=256K;stack=fp'; then
	check "processes that come and go" "$loads/load_short" 200
	packed "rings with events of all sorts" 1000 "$(dump_now)"
	rec_stop
else
	not_ok "events of all sorts are recorded" "$(cat "$work/err")"
fi

# by_script: errors and differences of all runs, unpacked by the script
by_script() {
	local run

	for run in "$work"/runs/*.packed; do
		python3 tests/compare/unpack.py "$run" "$work/content" 2>&1 && cmp "$work/content" "${run%packed}records" 2>&1
	done
}

check "there are runs of many rings" test "$(ls "$work"/runs/*.packed | wc -l)" -ge 10
empty "a script unpacks them by PACKED.md" "$(by_script)"
tap_end

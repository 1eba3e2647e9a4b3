#!/bin/bash
# SPDX-License-Identifier: MIT
#
# From the signal to the dump on disk, of 2 x 16 MiB of full rings: of a scheduler storm that is over, of one that goes
# on, of a compile that goes on. Beside `perf record --overwrite --switch-output` with the same events, and with -z: until
# its file is closed and synced. In turn, the median of each.
. tests/bench/lib.sh
. tests/bench/lib_dump.sh

: "${ROUNDS:=5}" "${FILL_SECONDS:=3}"
kinds=("ours" "ours --compress high" "perf" "perf -z")

storm_begin() {
	in_background "$loads/load_switch" 3600 >/dev/null
	load=("$bg_pid")
}

compile_begin() {
	# shellcheck disable=SC2016 # for the inner shell
	for _ in 1 2; do
		in_background bash -c 'while :; do
			for f in dump/base/*.c dump/file/*.c; do gcc -std=gnu11 -O2 -I. -D_GNU_SOURCE -DRINGBACK_VERSION=\"\" -c -o /dev/null $f; done
		done'
		load+=("$bg_pid")
	done
}

load_end() {
	kill "${load[@]}"
	kill -CONT "${load[@]}"
	load=()
}

# rows NAME quiet|busy: dumps of what the load fills the rings with; quiet: it is stopped meanwhile
rows() {
	local i k

	for ((i = 0; i < ROUNDS; i++)); do
		for k in "${!kinds[@]}"; do
			# shellcheck disable=SC2086 # who, and options
			record ${kinds[k]}
			kill -CONT "${load[@]}"
			sleep "$FILL_SECONDS"
			[ "$2" = busy ] || kill -STOP "${load[@]}"
			dump
			kill -STOP "${load[@]}"
			echo "$dump_ms" >>"$work/$1.$2.$k.ms"
			echo "$dump_bytes" >>"$work/$1.$2.$k.bytes"
			record_end
		done
	done
	for k in "${!kinds[@]}"; do
		row "$1, $2: ${kinds[k]}" "$(median "$work/$1.$2.$k.ms")" ms \
			"max $(max "$work/$1.$2.$k.ms"); $(median "$work/$1.$2.$k.bytes") bytes"
	done
}

storm_begin
rows storm quiet
rows storm busy
load_end
dump_events+=',raw_syscalls:sys_enter,raw_syscalls:sys_exit,page-faults'
compile_begin
FILL_SECONDS=8
rows compile busy
load_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# In the guest, for `make bench BENCH=blackout`; not a test. Measures how long a dump stops a trace:
# for the first CPU's area, and with four CPUs also for all areas at once.
. tests/helpers/tap.sh
. tests/bench/lib_blackout.sh

# blackouts CPU...
blackouts() {
	local cpus

	cpus=$(paste -sd, < <(printf '%s\n' "$@"))
	rec_start --symbols off --channel "trace:rb_aux_mod//;size=$size" -C "$cpus"
	check "$# areas are measured" \
		"$loads/tool_blackout" "$rec_pid" "$work/out" rb_aux_count $size $turns "$work" "$@"
	echo "$tap_out" >"$work/turns"
	rec_stop
	rows "guest, $# of 4 MiB, CPUs: $(nproc)"
}

blackouts 0
[ "$(nproc)" = 1 ] || blackouts 0 1 2 3
tap_end

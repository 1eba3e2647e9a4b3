#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What recording costs a server: requests a second and the 99th percentile of their latency, of redis, nginx and
# PostgreSQL, with no recorder, with the preset default and with waits, in turn, $RUNS (5) times. Load and server share the
# CPUs; the load keeps them busy, so every microsecond of recording is missing in the requests.
. tests/bench/lib.sh
. tests/bench/lib_servers.sh

runs=${RUNS:-5}

# change SERVER PRESET COLUMN: in percent, against the median without a recorder
change() {
	awk -v a="$(median <(cut -d' ' -f"$3" "$work/$1-none"))" -v b="$(median <(cut -d' ' -f"$3" "$work/$1-$2"))" \
		'BEGIN { printf "%+.1f", 100 * (b / a - 1) }'
}

for server in redis nginx postgres; do
	port=$((port + 1))
	${server}_start || continue
	at=$bg_pid
	${server}_load >/dev/null
	for ((i = 0; i < runs; i++)); do
		${server}_load >>"$work/$server-none"
		for preset in default waits; do
			rec_start -a --preset $preset
			${server}_load >>"$work/$server-$preset"
			rec_stop
		done
	done
	kill "$at"
	wait "$at" 2>/dev/null
	row "$server: requests a second, alone" "$(median <(cut -d' ' -f1 "$work/$server-none"))" /s \
		"99 % within $(median <(cut -d' ' -f2 "$work/$server-none")) ms"
	for preset in default waits; do
		row "$server: recorded with $preset" "$(change $server $preset 1)" % \
			"99th percentile $(change $server $preset 2) %"
	done
done

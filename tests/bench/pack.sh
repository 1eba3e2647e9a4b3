#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Compact dumps: what the records of three loads take in a dump, beside lz4 -1, zstd -3 and zstd -19 of the same records as
# perf.data has them (oldest first, a ring after the other), and the CPU time of packing and compressing them beside that of
# LZ4's fastest level on the same bytes, one after the other in one process. Rings of 16 MiB a CPU, all full.
. tests/bench/lib.sh
. tests/bench/lib_load.sh

# part NAME LINE
part() {
	sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p" <<<"$2"
}

quotient() {
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'
}

# sizes LOAD RECORDER-OPTION...
sizes() {
	local load=$1 path line records stored name how

	shift
	"$load"
	rec_start -a -m 16M "$@"
	wait_for 60 full
	path=$(dump_now)
	rec_stop
	end_group
	line=$("$loads/tool_packbench" "$path" "$work/records")
	records=$(part records "$line")
	stored=$(part stored "$line")
	row "$load: in the dump" "$stored" bytes "$records records, $(quotient $((stored * 8)) "$records") bits each"
	for how in 'lz4 -1' 'zstd -3' 'zstd -19'; do
		# shellcheck disable=SC2086 # command and level
		name=$($how -q -c "$work/records" | wc -c)
		row "$load: $how" "$name" bytes "$(quotient "$name" "$stored") times the dump's"
	done
	row "$load: CPU, packing and LZ4" "$(part fast_us "$line")" us/MiB "$(part fast_mb_s "$line") MB/s; with --compress high $(part high_us "$line") us/MiB, $(part high "$line") bytes"
	row "$load: CPU, LZ4 level 1 alone" "$(part lz4_us "$line")" us/MiB "$(part lz4_mb_s "$line") MB/s"
	rm -f "$path" "$work/records"
}

sizes storm -e "$switches"
sizes compile -e "$switches,$calls,$faults"
if have_server; then
	sizes server -g -e "$switches,$calls,cpu-clock/freq=999/"
else
	row "server: redis-server is not installed" - -
fi

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What both sides of the benchmark of blackouts share, blackout.sh on the host and tests/vm/guest/blackout.sh.
. tests/bench/lib.sh

size=4194304
turns=15

# rows NAME: of tool_blackout's lines in $work/turns
rows() {
	local what column=0

	for what in "stood still" "of this, copying" "memcpy" "write to a file"; do
		column=$((column + 1))
		cut -d' ' -f$column "$work/turns" >"$work/column"
		row "$1: $what" "$(median "$work/column")" us \
			"median of $turns; least $(percentile 0 "$work/column"), 90 % $(percentile 90 "$work/column")"
	done
	awk '{ printf "%.2f\n", $1 / $3 }' "$work/turns" >"$work/column"
	row "$1: stood still / memcpy" "$(median "$work/column")" times "median of each turn's"
	awk '{ printf "%.2f\n", $1 / $4 }' "$work/turns" >"$work/column"
	row "$1: stood still / write" "$(median "$work/column")" times "median of each turn's"
}

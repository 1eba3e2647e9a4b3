#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sourced by tests in the guest: sets the test module's parameters and waits for its ticks. Tests
# count ticks because their duration depends on the host.

parameters=/sys/module/rb_aux/parameters

# set_to NAME VALUE
set_to() {
	echo "$2" >"$parameters/$1"
}

# ticks [CPUS [PMUS]]: one line "PMU CPU NR" for each CPU that matches the pattern CPUS; without a
# pattern "PMU * NR", the sum. PMUS: a pattern; by default the two PMUs that write the known
# sequence
ticks() {
	awk -v cpus="${1-}" -v pmus="${2-^rb_aux_}" '
		$1 !~ pmus || $2 !~ cpus { next }
		{ n[$1 " " (cpus ? $2 : "*")] += $3 }
		END { for (i in n) print i, n[i] }' /sys/kernel/debug/ringback/ticks
}

# ticked NR [CPUS [PMUS]]: waits for NR more ticks, on each CPU of the pattern, or without one in
# sum
ticked() {
	local end=$((SECONDS + 60)) before

	before=$(ticks "${@:2}")
	until awk -v nr="$1" '
		NR == FNR { was[$1 " " $2] = $3; next }
		{ late += $3 < was[$1 " " $2] + nr }
		END { exit late > 0 }' <(echo "$before") <(ticks "${@:2}"); do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

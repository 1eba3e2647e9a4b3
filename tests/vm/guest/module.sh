#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sourced by tests in the guest: the test module's parameters, and its ticks, which are waited for: how long they take is the
# host's affair.

parameters=/sys/module/rb_aux/parameters

# set_to NAME VALUE
set_to() {
	echo "$2" >"$parameters/$1"
}

# ticks [CPUS [PMUS]]: "PMU CPU NR" a line, of each CPU of a pattern; without one: "PMU * NR", all together. PMUS: a pattern,
# the two that write the known sequence
ticks() {
	awk -v cpus="${1-}" -v pmus="${2-^rb_aux_}" '
		$1 !~ pmus || $2 !~ cpus { next }
		{ n[$1 " " (cpus ? $2 : "*")] += $3 }
		END { for (i in n) print i, n[i] }' /sys/kernel/debug/ringback/ticks
}

# ticked NR [CPUS [PMUS]]: waits until each has ticked so often more, on each CPU of that pattern or somewhere
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

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# From what meets a rule to all rings paused, with the default preset: for each kind of rule that is told by the kernel at once.
# The time is that of the record that met it.
. tests/bench/lib.sh

# cause_to_paused NAME RULE COMMAND...: 50 times COMMAND, each of which meets the rule once
cause_to_paused() {
	local name=$1 rule=$2 i

	shift 2
	rec_start -a --symbols off -T "$rule;cooldown=0"
	for ((i = 1; i <= 50; i++)); do
		{ (ulimit -c 0 && exec "$@") >/dev/null 2>&1; } 2>/dev/null
		# shellcheck disable=SC2016 # evaluated there
		wait_for 5 eval '[ "$(wc -l <"$work/out")" -ge '$i' ]'
	done
	rec_stop
	while read -r dump; do
		info_json "$dump" '.stats.signal_ns / 1000'
	done <"$work/out" >"$work/us"
	row "$name: cause to last ring paused" "$(median "$work/us")" us \
		"median of $(wc -l <"$work/us"); 90 % $(percentile 90 "$work/us"), max $(max "$work/us")"
}

cause_to_paused crash crash:ringback-b "$loads/load_crash" segv ringback-b
in_background "$loads/load_count" 600 >/dev/null
in_background "$loads/load_count" 600 >/dev/null
cause_to_paused "crash, all CPUs busy" crash:ringback-b "$loads/load_crash" segv ringback-b

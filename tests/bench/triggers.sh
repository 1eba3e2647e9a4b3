#!/bin/bash
# SPDX-License-Identifier: MIT
#
# From what meets a rule to all rings paused, with the default preset: for each kind of rule that is told by the kernel at once.
# The time is that of the record that met it.
. tests/bench/lib.sh

# us_of_dumps FILTER: what jq says of each dump, into $work/us
us_of_dumps() {
	while read -r dump; do
		info_json "$dump" "$1"
	done <"$work/out" >"$work/us"
}

# cause_to_paused NAME RULE COMMAND...: 50 times COMMAND, each of which meets the rule once
cause_to_paused() {
	local name=$1 rule=$2 i

	shift 2
	# shellcheck disable=SC2086 # a list of words
	rec_start -a --symbols off ${more-} -T "$rule;cooldown=0"
	for ((i = 1; i <= 50; i++)); do
		{ (ulimit -c 0 && exec "$@") >/dev/null 2>&1; } 2>/dev/null
		# shellcheck disable=SC2016 # evaluated there
		wait_for 5 eval '[ "$(wc -l <"$work/out")" -ge '$i' ]'
	done
	rec_stop
	us_of_dumps '.stats.signal_ns / 1000'
	row "$name: cause to last ring paused" "$(median "$work/us")" us \
		"median of $(wc -l <"$work/us"); 90 % $(percentile 90 "$work/us"), max $(max "$work/us")"
}

# Programs with unique names.
cp /usr/bin/date "$work/rb-date"
cp /usr/bin/sleep "$work/rb-sleep"
calls=$(realpath "$loads/load_calls")
cp "$(readlink -f /usr/bin/bash)" "$work/rb-bash"
# events WHERE: the kinds that are an event
events() {
	cause_to_paused "event$1" "event:sched:sched_process_exec[filename ~ \"*/rb-date\"]" "$work/rb-date"
	cause_to_paused "uprobe$1" "uprobe:$work/rb-bash:exit_shell" "$work/rb-bash" --norc -c 'exit 0'
	cause_to_paused "latency$1" "latency:$calls:calls_one>5ms" "$calls" now 6
	cause_to_paused "syscall$1" "syscall:fdatasync>1ns" sync -d "$work/rb-date"
	cause_to_paused "runqueue$1" "runqueue:rb-queue>5ms" "$calls" starve rb-queue 15
	cause_to_paused "offcpu$1" "offcpu:rb-sleep>5ms" "$work/rb-sleep" 0.006
	cause_to_paused "watch$1" "watch:$work/rb-bash:exit_shell" "$work/rb-bash" --norc -c 'read -t 0.02 <><(:); exit 0'
}

# still_running WHERE: a call that does not return. Its cause is the moment at which it has lasted as long as it may.
still_running() {
	local i

	rec_start -a --symbols off -T "latency:$calls:calls_one>20ms;while-running;cooldown=0"
	for ((i = 1; i <= 20; i++)); do
		"$calls" hang < <(echo) >/dev/null &
		bg_pid=$!
		# shellcheck disable=SC2016 # evaluated there
		wait_for 5 eval '[ "$(wc -l <"$work/out")" -ge '$i' ]'
		kill "$bg_pid"
		wait "$bg_pid" 2>/dev/null
	done
	rec_stop
	us_of_dumps '(.stats.signal_ns - (.trigger.began | tonumber)) / 1000 - 20000'
	row "while-running$1: passed to last ring paused" "$(median "$work/us")" us \
		"median of $(wc -l <"$work/us"), looked at each 10 ms; max $(max "$work/us")"
}

events ""
still_running ""
cause_to_paused crash crash:ringback-b "$loads/load_crash" segv ringback-b
more=--crash-hold cause_to_paused "crash, --crash-hold, eight threads" crash:load_crew "$loads/load_crew"
in_background "$loads/load_count" 600 >/dev/null
in_background "$loads/load_count" 600 >/dev/null
cause_to_paused "crash, all CPUs busy" crash:ringback-b "$loads/load_crash" segv ringback-b
events ", all CPUs busy"
still_running ", all CPUs busy"

# A rate that begins and stays: its cause is the first process. Windows of 1 s, 10 times.
rec_start -a --symbols off -T 'rate:sched:sched_process_fork[parent_comm == "rb-bash"]>40/s;cooldown=0'
: >"$work/ms"
for ((i = 1; i <= 10; i++)); do
	began=$(cut -d' ' -f1 /proc/uptime)
	# shellcheck disable=SC2016 # evaluated there
	"$work/rb-bash" --norc -c 'for ((;;)); do (:); read -t 0.01 <><(:); done' 2>/dev/null &
	shell=$!
	# shellcheck disable=SC2016 # evaluated there
	wait_for 10 eval '[ "$(wc -l <"$work/out")" -ge '$i' ]'
	kill "$shell"
	wait "$shell" 2>/dev/null
	info_json "$(tail -n 1 "$work/out")" "(.trigger.time | tonumber) / 1e6 - $began * 1000 | round" >>"$work/ms"
	sleep 3 # it is armed again when the rate has gone back
done
rec_stop
row "rate: begin of the excess to the hit" "$(median "$work/ms")" ms "median of 10; max $(max "$work/ms")"

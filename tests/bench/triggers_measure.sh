#!/bin/bash
# SPDX-License-Identifier: MIT
#
# From the cause to the last ring paused, for rules that measure, wait for a process, a line or a time: the cause is the moment
# right before the load does it, by the load's own clock. What has to last (psi, cpu) cannot be known before it has.
. tests/bench/lib.sh

load=$loads/load_measure
unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)

# load COMMAND...: a load_measure, started by COMMAND..., that obeys tell; $pid
load() {
	rm -f "$work/fifo"
	mkfifo "$work/fifo"
	"$@" "$load" <"$work/fifo" >"$work/causes" &
	pid=$!
	exec 9>"$work/fifo"
}

tell() {
	echo "$*" >&9
}

unload() {
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	exec 9>&-
}

# paused N: the N-th dump is there; when its last ring was paused, ns of CLOCK_MONOTONIC
paused() {
	# shellcheck disable=SC2016 # evaluated there
	wait_for 30 eval '[ "$(wc -l <"$work/out")" -ge '"$1"' ]' &&
		info_json "$(sed -n "$1p" "$work/out")" '(.trigger.time | tonumber) + .stats.signal_ns'
}

# after N: ms from the load's last command but those that give back, to the N-th dump
after() {
	local at cause

	at=$(paused "$1") || return
	cause=$(grep -vE ' (free|burn 1)$' "$work/causes" | tail -n 1 | cut -d' ' -f1)
	bc <<<"scale = 3; ($at - $cause) / 1000000" >>"$work/ms"
}

begin() { # RULE
	: >"$work/ms"
	rec_start -a --symbols off -T "$1;cooldown=0"
}

result() { # NAME
	rec_stop
	row "$1: cause to last ring paused" "$(median "$work/ms")" ms "median of $(wc -l <"$work/ms"); max $(max "$work/ms")"
}

exits() {
	: >"$work/ms"
	for ((i = 0; i < 5; i++)); do
		load
		rec_start -a --symbols off -T "exit:$pid"
		tell exit 0
		after 1
		rec_stop
		unload
	done
	row "exit: cause to last ring paused" "$(median "$work/ms")" ms "median of 5; max $(max "$work/ms")"
}

lines() {
	load
	begin "file:$work/log~ERROR"
	for ((i = 1; i <= 20; i++)); do
		tell append "$work/log" "ERROR $i"
		after "$i"
		sleep 1 # more often it would be looked at once a second
	done
	result "file, now and then a line"
	begin "file:$work/log~ERROR"
	while :; do
		echo fine >>"$work/log"
		sleep 0.01
	done &
	writer=$!
	sleep 2
	for ((i = 1; i <= 10; i++)); do
		tell append "$work/log" "ERROR $i"
		after "$i"
		sleep 0.$((RANDOM % 10))
	done
	kill "$writer"
	wait "$writer" 2>/dev/null
	result "file, written to all the time"
	unload
}

# memory NAME MIB RULE: 5 times so much; what it takes to have it is in the time
memory() {
	begin "$3"
	for ((i = 1; i <= 5; i++)); do
		sleep 2.$((RANDOM % 10)) # it was seen to go back
		tell eat "$2"
		after "$i"
		tell free
	done
	result "$1, $2 MiB at once"
}

busy() {
	load chrt -r 1 # a nice value would count within its session only
	begin "cpu:$pid>75%/1s"
	for ((i = 1; i <= 5; i++)); do
		tell burn 100
		after "$i"
		tell burn 1
		sleep 3.$((RANDOM % 10))
	done
	result "cpu, 75% of 1s"
	unload
}

# in_cgroup COMMAND...: instead of the (background) shell
in_cgroup() {
	# shellcheck disable=SC2016
	exec sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$unified/$cgroup" "$@"
}

pressure() {
	cgroup=ringback-bench-$$
	if [ -z "$unified" ] || ! mkdir "$unified/$cgroup" || [ ! -e "$unified/$cgroup/cpu.pressure" ]; then
		row "psi" - ms "no cgroup v2 with pressure here"
		return
	fi
	at_end+=("rmdir $unified/$cgroup 2>/dev/null")
	# Two on one CPU; while one is stopped the other has nothing to wait for.
	load in_cgroup chrt -r 1 taskset -c 0
	in_cgroup chrt -r 1 taskset -c 0 sh -c 'while :; do :; done' &
	other=$!
	kill -STOP "$other"
	tell burn 80
	begin "psi:cpu:some:/$cgroup>300ms/2s"
	for ((i = 1; i <= 5; i++)); do
		sleep 8.$((RANDOM % 10)) # silence ends the excursion
		cause=$(tr -d . </proc/uptime | cut -d' ' -f1)
		kill -CONT "$other"
		bc <<<"scale = 3; ($(paused "$i") - $cause * 10000000) / 1000000" >>"$work/ms"
		kill -STOP "$other"
	done
	kill -CONT "$other"
	kill "$other"
	wait "$other" 2>/dev/null
	unload
	result "psi, 300ms of stalls in 2s"
	wait_for 5 rmdir "$unified/$cgroup"
}

clock() {
	begin every:1s
	for ((i = 1; i <= 10; i++)); do
		bc <<<"scale = 3; $(paused "$i") % 1000000000 / 1000000" >>"$work/ms"
	done
	result "every, after the whole second"
}

# The kernel renews the average each 5.004 s, the rule looks each 5 s of the clock: between the two may lie anything up to 5 s,
# and for minutes it is about the same.
averages() {
	local above i

	load
	: >"$work/ms"
	for ((i = 0; i < 10; i++)); do
		above=$(awk '{ print $1 + 0.5 }' /proc/loadavg)
		rec_start -a --symbols off -T "load>$above"
		tell crowd "$above"
		after 1
		tell free
		rec_stop
	done
	unload
	row "load: cause to last ring paused" "$(median "$work/ms")" ms "median of $(wc -l <"$work/ms"); max $(max "$work/ms")"
}

memories() {
	load
	memory rss 512 "rss:$pid>256M"
	memory mem 2048 "mem:available<$(($(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo) - 1024))M;hysteresis=0"
	unload
}

# KINDS=...: only these
for kind in ${KINDS:-exits lines memories busy averages pressure clock}; do $kind; done

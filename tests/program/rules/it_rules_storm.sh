#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A rule that matches 10,000 times a second: one dump per cooldown, every hit counted, almost no CPU
# time, no growing memory; limits by signature; and several rules that match together make one dump
# that names them.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

nr=50000
per_second=10000
getppid=$(printf '#include <sys/syscall.h>\nSYS_getppid\n' | gcc -E -P - | tail -n 1)
# Records one idle process, so that other processes on the machine do not grow the recorder's
# memory.
sleep 1000 &
idle=$!
channel="-p $idle -m 64K -e sched:sched_process_exit"

nr_dumps() {
	wc -l <"$work/out"
}

has_dumps() {
	[ "$(nr_dumps)" -ge "$1" ]
}

is_armed() {
	[ "$("$RINGBACK" status --json | jq -r .state)" = armed ]
}

# rule NAME FIELD
rule() {
	"$RINGBACK" status --json | jq -r ".rules[] | select(.name == \"$1\") | .$2"
}

has_hits() {
	[ "$(rule "$1" hits)" -ge "$2" ]
}

# Private memory only, without the pages of its code.
rss_kb() {
	awk '/^RssAnon/ { print $2 }' "/proc/$rec_pid/status"
}

# copy NAME: a copy of the load, $storm, with a unique name and file
copy() {
	storm=$work/storm-$1
	cp "$loads/load_storm" "$storm"
}

# another_dump N: true with N dumps; otherwise sends one more hit
another_dump() {
	has_dumps "$1" || ! "$storm" 1 1 >/dev/null
}

# storm_of NAME RULE: a storm of five seconds, or more on a slow machine. One thread packs, so that
# its memory is complete after the first dump.
storm_of() {
	local before began rss dumps ticks

	# shellcheck disable=SC2086
	rec_start $channel --symbols=off --max-dump-cpus 1 -T "$2;name=$1;cooldown=2s" || return
	# Memory of the first dump stays allocated.
	"$storm" 1 1 >/dev/null
	wait_for 20 has_hits "$1" 1
	wait_for 20 has_dumps 1
	sleep 2.2
	before=$(cpu_ticks "$rec_pid")
	rss=$(rss_kb)
	dumps=$(nr_dumps)
	began=$SECONDS
	"$storm" $nr $per_second >"$work/storm"
	check "$1: every hit is counted" wait_for 20 has_hits "$1" $((nr + 1))
	equal "$1: and not one more" $((nr + 1)) "$(rule "$1" hits)"
	ticks=$(($(cpu_ticks "$rec_pid") - before))
	wait_for 20 is_armed
	"$RINGBACK" status >"$work/status"
	check "$1: status says how often it was seen and kept" \
		grep -qE '^repeated: .*50,00[0-9] hits, [0-9]* in dumps' "$work/status"
	# On a busy machine a dump may take as long as the storm; then the storm lasts longer.
	wait_for 20 another_dump $((dumps + 2))
	wait_for 20 is_armed
	dumps=$(($(nr_dumps) - dumps))
	echo "# $1: $dumps dumps, $ticks ticks of CPU in $((SECONDS - began)) s, $rss to $(rss_kb) kB resident"
	# Each dump is followed by its cooldown: 5 s allow three.
	check "$1: one dump a cooldown" test "$dumps" -ge 2 -a "$dumps" -le $(((SECONDS - began) / 2 + 2))
	check "$1: the recorder takes next to nothing" test "$ticks" -le $((nr / per_second * 4))
	check "$1: its memory does not grow" test "$(($(rss_kb) - rss))" -lt 2048
	rec_stop
}

storm_of_events() {
	copy e
	storm_of event "event:raw_syscalls:sys_enter[id==$getppid && comm==\"storm-e\"]"
}

storm_of_calls() {
	copy u
	storm_of uprobe "uprobe:$storm:storm_hit"
}

together() {
	local path names

	copy t
	# shellcheck disable=SC2086
	rec_start $channel --symbols=off --post 300ms -T "uprobe:$storm:storm_hit;name=inside" \
		-T "event:raw_syscalls:sys_enter[id==$getppid && comm==\"storm-t\"];name=outside"
	"$storm" 10 1000 >"$work/storm"
	wait_for 20 test -s "$work/out"
	path=$(head -n 1 "$work/out")
	names=$(info_json "$path" '[.trigger.name, .trigger.merged[].name] | unique | join(" ")')
	equal "rules that are met together make one dump that names them all" "inside outside" "$names"
	equal "with all their hits" 20 "$(info_json "$path" '1 + ([.trigger.merged[].hits] | add)')"
	sleep 0.5
	equal "and no other" 1 "$(nr_dumps)"
	rec_stop
}

one_signature() {
	local i path

	copy s
	# shellcheck disable=SC2086
	rec_start $channel --symbols=off -T "uprobe:$storm:storm_hit;name=one;same=2/1h"
	for i in 1 2 3 4 5; do
		"$storm" 1 1 >"$work/storm"
		wait_for 20 has_hits one "$i"
		wait_for 20 is_armed
	done
	equal "same=2/1h keeps two of five" 2 "$(nr_dumps)"
	path=$(tail -n 1 "$work/out")
	equal "a dump says how often it was seen, and kept" "2 2" "$(info_json "$path" '"\(.trigger.seen) \(.trigger.kept)"')"
	equal "the three others are held" 3 "$(rule one held)"
	rec_stop
}

side_by_side storm_of_events storm_of_calls together one_signature
kill "$idle"
tap_end

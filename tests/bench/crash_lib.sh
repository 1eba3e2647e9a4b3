#!/bin/bash
# SPDX-License-Identifier: MIT
#
# From a fault to the wait status that the parent gets, with libringback-crash.so loaded and a recorder that makes a dump of
# it: COUNT crashes in each of the states that a program may be in (tests/program/rules/it_crash_lib.sh has them), CPUs idle and all busy.
. tests/bench/lib.sh

: "${COUNT:=50}"
library=$RINGBACK_BUILD/libringback-crash.so
export RINGBACK_TELL=$work/run/default.tell
: >"$work/empty"

# measure NAME PROGRAM HOW ARG
measure() {
	"$loads/load_wait" "$COUNT" env LD_PRELOAD="$library" "$2" "$3" "$4" 2>/dev/null | awk '{ print $2 }' >"$work/us"
	row "$1" "$(median "$work/us")" us "max $(max "$work/us")"
}

all() {
	local how

	for how in malloc top mutex loader handler deep own child; do
		measure "$how$1" "$loads/load_crash_lib" "$how" "$work/empty"
	done
	for how in deep threads; do
		measure "$how of a program$1" "$loads/load_crash" "$how" load_crash
	done
}

rec_start -a -e cgroup:cgroup_mkdir -m 64K --symbols off -T 'crash:load_crash*;cooldown=1h'
all ""
for ((i = 0; i < $(nproc); i++)); do in_background sh -c 'while :; do :; done'; done
all ", all CPUs busy"
rec_stop

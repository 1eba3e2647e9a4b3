#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # $work is recorder.sh's
#
# Sourced by tests of crashes, after recorder.sh: what the recorder counts and the last dump says, and names as gdb has them.

# dumps: how many there are so far
dumps() {
	wc -l <"$work/out"
}

has_dumps() {
	[ "$(dumps)" -ge "$1" ]
}

# hits: of all rules with a name, so far
hits() {
	"$RINGBACK" status --json | jq '[.rules[] | select(.text | startswith("crash")) | .hits] | add'
}

has_hits() {
	[ "$(hits)" -ge "$1" ]
}

last() {
	tail -n 1 "$work/out"
}

# saw KEY: what the last dump says of it
saw() {
	info_json "$(last)" ".trigger.saw[] | select(startswith(\"$1=\")) | ltrimstr(\"$1=\")"
}

# Names of one function that has several, and of one that the compiler made more of: the C library's __GI_raise is raise,
# __libc_start_main_impl is __libc_start_main. Arguments stand in names from symbol tables only.
same_names() {
	sed -E 's/ __GI_/ /; s/ _+([A-Za-z])/ \1/; s/ libc_read$/ read/; s/ (__)?libc_start_main(_impl)?$/ libc_start_main/
		s/\.(constprop|isra|part|cold)(\.[0-9]+)*//; s/(\[abi:[^]]*\]|@@?[A-Z].*)//; s/([^ ])\((.*)\)( const)?$/\1/'
}

# stand_in: what a handler of cores is told to work for, but its stream: directory $work/kept with the pattern of before,
# core.%p; a process that lives, $live, in $work/live
stand_in() {
	mkdir -m 700 "$work/kept"
	(umask 077 && echo "core.%p" >"$work/kept/core_pattern.saved")
	mkdir "$work/live"
	(cd "$work/live" && ulimit -Sc unlimited && exec sleep 1000) &
	live=$!
}

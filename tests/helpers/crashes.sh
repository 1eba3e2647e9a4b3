#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # $work is recorder.sh's
#
# Sourced by tests of crashes, after recorder.sh: hits and dumps of the recorder, values of the last
# dump, and function names normalised for comparison with gdb.

# dumps: number of dumps so far
dumps() {
	wc -l <"$work/out"
}

has_dumps() {
	[ "$(dumps)" -ge "$1" ]
}

# hits: hits of all crash rules so far
hits() {
	"$RINGBACK" status --json | jq '[.rules[] | select(.text | startswith("crash")) | .hits] | add'
}

has_hits() {
	[ "$(hits)" -ge "$1" ]
}

last() {
	tail -n 1 "$work/out"
}

# saw KEY: value of KEY in the last dump's trigger
saw() {
	info_json "$(last)" ".trigger.saw[] | select(startswith(\"$1=\")) | ltrimstr(\"$1=\")"
}

# Normalises names: aliases of one function in the C library (__GI_raise is raise,
# __libc_start_main_impl is __libc_start_main), and the compiler's copies and parts of a function.
# Names from symbol tables may include arguments; they are removed.
same_names() {
	sed -E 's/ __GI_/ /; s/ _+([A-Za-z])/ \1/; s/ libc_read$/ read/; s/ (__)?libc_start_main(_impl)?$/ libc_start_main/
		s/\.(constprop|isra|part|cold)(\.[0-9]+)*//; s/(\[abi:[^]]*\]|@@?[A-Z].*)//; s/([^ ])\((.*)\)( const)?$/\1/'
}

# stand_in: the inputs of a core handler, except the core stream: directory $work/kept with the
# saved pattern core.%p, and a live process, $live, in $work/live
stand_in() {
	mkdir -m 700 "$work/kept"
	(umask 077 && echo "core.%p" >"$work/kept/core_pattern.saved")
	mkdir "$work/live"
	(cd "$work/live" && ulimit -Sc unlimited && exec sleep 1000) &
	live=$!
}

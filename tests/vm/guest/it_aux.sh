#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of recorder.sh
#
# In the guest: AUX channels on the test module's PMUs, one whose head counts and one whose head is a place in the area, both
# in the same recorder. What is dumped are the last bytes of the known sequence (tool_area), for every kind of target, however
# often the areas went around.
. tests/tap.sh
. tests/recorder.sh

parameters=/sys/module/rb_aux/parameters
area=$loads/tool_area

# set_to NAME VALUE
set_to() {
	echo "$2" >"$parameters/$1"
}

# areas DUMP..: tool_area's lines into $work/areas; what is wrong is printed and fails
areas() {
	"$area" "$@" >"$work/areas"
}

# each CHANNEL KEY: that of all areas of a channel that were looked at last, one line
each() {
	sed -n "s/^channel=$1 .*\b$2=\([-0-9a-fx]*\).*/\1/p" "$work/areas" | paste -sd' '
}

# record ARG..: a recorder of both PMUs
record() {
	rm -f "$work"/dumps/*.rbd
	rec_start --symbols off --channel "count:rb_aux_count//;size=16K" --channel "mod:rb_aux_mod//;size=16K" "$@"
}

# nr_dumps N: whether there are that many
nr_dumps() {
	[ "$(wc -l <"$work/out")" -ge "$1" ]
}

# ---- all CPUs: never full, exactly full, five bytes over, nothing new, many times around ----

set_to rate 65528
set_to limit 5003
record -a
for bytes in 5003 16384 16389 16389 1000003; do
	set_to limit $bytes
	sleep 0.1
	path=$(dump_now)
	check "$bytes bytes on each CPU: the dump has the last of them, in order" areas "$path"
	for kind in count mod; do
		equal "$kind: and that is all" "$bytes $bytes $bytes $bytes" "$(each $kind end)"
	done
done
check "who ran beside the areas is there with its mappings" \
	eval '[ "$("$RINGBACK" info "$path" | sed -n "s/^ledger .* \([0-9,]*\) mappings.*/\1/p" | tr -d ,)" -gt 5 ]'
for kind in count mod; do
	equal "$kind: the last did go around" 4 "$(each $kind flags | tr ' ' '\n' | grep -c '^0x[13]$')"
done

# One after the other, and what is new in each is what came since the one before.
set_to rate 2048
set_to limit 0
for ((i = 6; i <= 55; i++)); do
	kill -USR2 "$rec_pid"
	wait_for 10 nr_dumps $i
done
check "50 dumps in a row, with those before" areas "$work"/dumps/*.rbd
equal "each has all areas" 440 "$(wc -l <"$work/areas")"
rec_stop
check "the recorder ends with 0" test "$rec_status" = 0
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of recorder.sh
#
# In the guest: AUX channels on the test module's PMUs in one recorder. The head of one PMU counts
# all bytes, that of the other wraps at the area's end. A dump must hold the last bytes of the known
# sequence (tool_area), for every kind of target, however often the areas wrapped.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/vm/guest/module.sh

area=$loads/tool_area
step=0.01

# areas DUMP..: writes tool_area's lines to $work/areas; prints errors and fails if there are any
areas() {
	"$area" "$@" >"$work/areas"
}

# each CHANNEL KEY: values of KEY in all areas of a channel, from the last areas call, on one line
each() {
	sed -n "s/^channel=$1 .*\b$2=\([-0-9a-fx]*\).*/\1/p" "$work/areas" | paste -sd' '
}

# record ARG..: a recorder of both PMUs
record() {
	rm -f "$work"/dumps/*.rbd
	rec_start --symbols off --channel "count:rb_aux_count//;size=16K" --channel "mod:rb_aux_mod//;size=16K" "$@"
}

# dump: asks for a dump by a signal, since starting a program takes long here; polls every $step
# seconds; sets path
dump() {
	local paths nr

	mapfile -t paths <"$work/out"
	nr=${#paths[@]}
	kill -USR2 "$rec_pid"
	while [ ${#paths[@]} = "$nr" ] && kill -0 "$rec_pid"; do
		sleep "$step"
		mapfile -t paths <"$work/out"
	done
	path=${paths[-1]}
}

# ---- all CPUs: never full, exactly full, five bytes over, nothing new, many times around ----

set_to rate 65528
set_to limit 5003
record -a
for bytes in 5003 16384 16389 16389 1000003; do
	set_to limit $bytes
	ticked 20 .
	dump
	check "$bytes bytes on each CPU: the dump has the last of them, in order" areas "$path"
	for kind in count mod; do
		equal "$kind: and that is all" "$bytes $bytes $bytes $bytes" "$(each $kind end)"
	done
done
check "threads that ran beside the areas are there with their mappings" \
	eval '[ "$("$RINGBACK" info "$path" | sed -n "s/^ledger .* \([0-9,]*\) mappings.*/\1/p" | tr -d ,)" -gt 5 ]'
for kind in count mod; do
	equal "$kind: the last did go around" 4 "$(each $kind flags | tr ' ' '\n' | grep -c '^0x[13]$')"
done

# Several dumps in a row: each has as new what was written since the one before.
set_to rate 2048
set_to limit 0
began=$SECONDS
for ((i = 0; i < 50; i++)); do
	dump
done
echo "# 50 dumps took $((SECONDS - began)) s"
check "50 dumps in a row, with those before" areas "$work"/dumps/*.rbd
equal "each has all areas" 440 "$(wc -l <"$work/areas")"

# ---- free running: no reader, no wake-ups ----

# The threads that wrote the dump may still be about to sleep.
for ((i = 0; i < 10; i++)); do
	before=$(switches)
	sleep 1
	after=$(switches)
	[ "$before" != "$after" ] || break
done
equal "no thread of the recorder runs while the traces do" "$before" "$after"
equal "16 rings are mapped to be read only, and no tail of theirs was ever moved" "rings=16 moved=0" \
	"$("$area" tails "$rec_pid")"
check "status tells of the areas and for how long they stood still" \
	eval '"$RINGBACK" status | grep -q "^AUX: *mod: 4 areas of 16 KiB; last dump: .* new; stopped for up to"'

# ---- refused options ----

# refused TEXT ARG..: a dry run fails and prints TEXT
refused() {
	local text=$1

	shift
	! "$RINGBACK" record --config /dev/null --dry-run "$@" >"$work/refused" 2>&1 && grep -q "$text" "$work/refused"
}
check "other events want a channel of their own" refused "give it a channel of its own" -a -e rb_aux_mod//,cpu-clock
check "there are no stacks" refused "no stacks" -a --channel "trace:intel_pt//;stack=fp"
check "a PMU that is taken is busy" refused "another program uses it" -a -e rb_aux_mod//

# ---- a CPU goes offline and comes back ----

offline=/sys/devices/system/cpu/cpu3/online
at_end+=("echo 1 >$offline")
dump
first=$path
echo 0 >$offline
wait_for 10 grep -q 'CPU 3 went offline' "$work/err"
dump
gone=$path
check "what a CPU that went off had written is in the next dump" areas "$first" "$gone"
equal "of all CPUs" "0 1 2 3 0 1 2 3" "$(each count cpu)"
dump
away=$path
echo 1 >$offline
wait_for 10 grep -q 'CPU 3 came online and is recorded' "$work/err"
ticked 2 .
dump
check "and so is what it writes when it is back" areas "$first" "$gone" "$away" "$path"
equal "but not while it is away" "0 1 2 3 0 1 2 3 0 1 2 0 1 2 3" "$(each mod cpu)"

# ---- all CPUs busy ----

for i in 1 2 3 4; do
	in_background bash -c 'while :; do :; done'
done
for i in 1 2 3; do
	dump
done
kill "${started[@]}"
all=("$work"/dumps/*.rbd)
check "dumps while all CPUs are busy" areas "${all[@]: -4}"

rec_stop
check "the recorder ends with 0" test "$rec_status" = 0

# ---- other targets ----

# busy_areas NAME DUMP..: the areas' bytes are right, and each channel has some
busy_areas() {
	local name=$1 kind

	shift
	check "$name: what was written is there, in order" areas "$@"
	for kind in count mod; do
		check "$name: $kind has something new" test "$(($(each $kind new | tr ' ' '+')))" -gt 0
	done
}

# two_dumps NAME [CPUS]: two dumps of the target with some time between them; on each of these CPUs
two_dumps() {
	local first

	ticked 3 "${2-}"
	dump
	first=$path
	ticked 3 "${2-}"
	dump
	busy_areas "$1" "$first" "$path"
}

set_to rate 8192
set_to flags 12
record -C 1,2
two_dumps "two CPUs" "[12]"
equal "only those" "1 2 1 2" "$(each count cpu)"
equal "what PERF_RECORD_AUX said is kept: partial, collision" 0x18 \
	"$(each mod flags | tr ' ' '\n' | while read -r flags; do printf '%#x\n' $((flags & 0xfc)); done | sort -u)"
rec_stop
set_to flags 0

# A shell that waits, and starts processes that work.
in_background bash -c "while :; do $loads/load_count 0.1 >/dev/null; done"
record -p "$bg_pid"
two_dumps "a process and what it starts"
equal "an area a CPU" "0 1 2 3 0 1 2 3" "$(each mod cpu)"
rec_stop
kill "$bg_pid"

in_background bash -c 'while :; do :; done'
record -t "$bg_pid" --no-inherit
two_dumps "a thread"
equal "an area of its own" "-1 -1 $bg_pid $bg_pid" "$(each mod cpu) $(each mod tid)"
rec_stop

mkdir -p "$work/cgroup"
mount -t cgroup2 none "$work/cgroup"
at_end+=("rmdir $work/cgroup/traced; umount $work/cgroup")
# An unused hierarchy does not know its implicit controllers until something is written there.
echo +pids >"$work/cgroup/cgroup.subtree_control"
mkdir "$work/cgroup/traced"
echo "$bg_pid" >"$work/cgroup/traced/cgroup.procs"
record --cgroup "$work/cgroup/traced"
two_dumps "a cgroup"
rec_stop
kill "$bg_pid"
wait "$bg_pid"

rm -f "$work"/dumps/*.rbd
"$RINGBACK" record --config /dev/null -o "$work/dumps" --symbols off --dump-on-exit --channel "count:rb_aux_count//;size=16K" \
	--channel "mod:rb_aux_mod//;size=16K" -- "$loads/load_count" 0.1 10000 >"$work/out" 2>"$work/err"
busy_areas "a command" "$(head -n 1 "$work/out" | grep rbd || tail -n 1 "$work/out")"

# ---- blackout time ----

# Printed, not checked: all CPUs here share one thread of the host, which competes with other load.
# `make bench BENCH=blackout` measures it.
size=4194304
set_to rate 8192
rm -f "$work"/dumps/*.rbd
rec_start --symbols off --channel "trace:rb_aux_mod//;size=$size" -C 1
step=0.4
dump
dump
check "4 MiB are right too" areas "$work"/dumps/*.rbd
rec_stop
rec_start --symbols off --channel "trace:rb_aux_mod//;size=$size" -C 1
check "how long it stands still is told beside memcpy and write" \
	"$loads/tool_blackout" "$rec_pid" "$work/out" rb_aux_count $size 5 "$work" 1
echo "# 4 MiB, us: stood still, of this copying; memcpy, write: $(paste -sd';' <<<"$tap_out")"
rec_stop
tap_end

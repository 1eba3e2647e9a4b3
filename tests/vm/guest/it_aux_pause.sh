#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154,SC2031,SC2016,SC2034 # of recorder.sh; names in text
#
# In the guest with a kernel newer than 6.12: a hit pauses the trace of its CPU, in the kernel. The
# module notes how many bytes it had written when it was paused (debugfs: paused); dumps are
# compared with that. The test makes the recorder slow by stopping it. Checks use order and
# contents, never times.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

parameters=/sys/module/rb_aux/parameters
area=$loads/tool_area
rule="event:signal:signal_generate[sig==42];name=hit"

mount -t tracefs tracefs /sys/kernel/tracing
at_end+=("umount /sys/kernel/tracing")
trap '' RTMIN+8 # the signal is ignored; that it was sent is the event
echo 2048 >$parameters/rate

declare -A now pauses resumes at

# look: reads the module's notes, by "KIND CPU". Starts no program, because that takes long here.
look() {
	local pmu cpu n p r a

	while read -r pmu cpu n p r a; do
		pmu=${pmu#rb_aux_}
		now[$pmu $cpu]=$n pauses[$pmu $cpu]=$p resumes[$pmu $cpu]=$r at[$pmu $cpu]=$a
	done </sys/kernel/debug/ringback/paused
}

exec {never}<> <(:)

# soon COMMAND..: looks until the command succeeds, for at least half a minute and 2000 looks: the
# clock of a guest without clock hardware may leap
soon() {
	local end=$((SECONDS + 30)) looks=0

	until look && "$@"; do
		[ $SECONDS -lt $end ] || [ $looks -lt 2000 ] || return 1
		looks=$((looks + 1))
		read -r -t 0.01 -u "$never"
	done
	return 0 # a loop ends with the status of its body, here that of a read in vain
}

# beyond BYTES CPU: both PMUs have written more than that
beyond() {
	[ "${now[count $2]}" -gt "${1% *}" ] && [ "${now[mod $2]}" -gt "${1#* }" ]
}

# both ARRAY CPU: looks, and sets $both: "COUNT MOD"
both() {
	local -n of=$1

	look
	both="${of[count $2]} ${of[mod $2]}"
}

# grows CPU: both PMUs write there
grows() {
	both now "$1"
	soon beyond "$both" "$1"
}

# stands: nothing is written on CPU 2 while the traces of another CPU go on for some ticks
stands() {
	local before

	both now 2
	before=$both
	grows 1 && grows 1 && grows 1
	both now 2
	[ "$both" = "$before" ]
}

# stopped CPU BEFORE: both PMUs were paused more than BEFORE times
stopped() {
	[ "${pauses[count $1]}" -gt "$2" ] && [ "${pauses[mod $1]}" -gt "$2" ]
}

hit() {
	kill -RTMIN+8 $$
}

# dumps NR: waits for NR dumps; sets path to the last
dumps() {
	local paths=()

	until [ ${#paths[@]} -ge "$1" ] || ! kill -0 "$rec_pid"; do
		read -r -t 0.01 -u "$never"
		mapfile -t paths <"$work/out"
	done
	path=${paths[-1]}
}

# ends CPU: offsets where the last dump's areas of that CPU end
ends() {
	"$area" "$path" | sed -n "s/^channel=\(count\|mod\) cpu=$1 .*\bend=\([0-9]*\).*/\2/p" | paste -sd' '
}

# record ARG..: a recorder of both PMUs, on any CPU; this shell, which causes the hits, then runs on
# CPU 2
record() {
	rm -f "$work"/dumps/*.rbd
	taskset -pc 0-3 $$ >/dev/null
	rec_start -a --symbols off --channel "count:rb_aux_count//;size=16K" --channel "mod:rb_aux_mod//;size=16K" "$@"
	taskset -pc 2 $$ >/dev/null
}

channels=(--channel "count:rb_aux_count//;size=16K" --channel "mod:rb_aux_mod//;size=16K")
plan() {
	"$RINGBACK" record --config /dev/null --dry-run "$@" | sed -n 's/^    traces *//p' | sort -u | paste -sd'|'
}
equal "--dry-run tells that the event stops the traces" \
	"stopped by the event itself, in the kernel, on the CPU where it comes|stopped by the recorder when it has woken: what meets the rule is not an event on a CPU that the kernel could see" \
	"$(plan -a "${channels[@]}" -T "$rule")"
check "not with a rule that wants what comes after" \
	eval 'plan -a "${channels[@]}" -T "$rule;post=1s" | grep -q "what comes after a hit is wanted, too (post=)"'
check "nor traces of tasks" eval 'plan -p $$ "${channels[@]}" -T "$rule" | grep -q "only traces of whole CPUs"'

# ---- the recorder is slow, the trace stays paused at the hit ----

record -T "$rule"
grows 2
kill -STOP "$rec_pid"
hit
check "the recorder is not there, and the trace stands" stands
both now 2
stood=$both
both at 2
equal "where it was hit" "$both" "$stood"
both pauses 2
equal "by one stop" "1 1" "$both"
check "other CPUs' go on" grows 3
kill -CONT "$rec_pid"
dumps 1
equal "the dump ends there" "$stood" "$(ends 2)"
check "and has what was written, in order" "$area" "$path"
equal "it is told of which areas" "2 2" "$(info_json "$path" '[.aux[] | select(.flags | index("paused")) | .cpu] | join(" ")')"
check "then it runs on" grows 2
both resumes 2
equal "by one start" "1 1" "$both"

# ---- further hits ----

for i in 2 3; do
	kill -STOP "$rec_pid"
	hit
	stands || not_ok "hit $i stops it, too"
	both at 2
	kill -CONT "$rec_pid"
	dumps $i
	equal "dump $i ends where it was hit" "$both" "$(ends 2)"
	grows 2 || not_ok "it runs after dump $i"
done
# A dump requested during the pause: one dump answers both.
kill -STOP "$rec_pid"
hit
kill -USR2 "$rec_pid"
kill -CONT "$rec_pid"
dumps 4
check "it runs after a dump that was asked for at the same time" grows 2
check "what is in all dumps is right, and what is new in each, since the one before" "$area" "$work"/dumps/*.rbd

# ---- a CPU that was offline ----

at_end+=("echo 1 >/sys/devices/system/cpu/cpu3/online")
echo 0 >/sys/devices/system/cpu/cpu3/online
wait_for 20 grep -q 'CPU 3 went offline' "$work/err"
echo 1 >/sys/devices/system/cpu/cpu3/online
wait_for 20 grep -q 'CPU 3 came online and is recorded' "$work/err"
check "a CPU that came back is traced" grows 3
taskset -pc 3 $$ >/dev/null
both pauses 3
before=${both% *}
hit
check "a hit there stops its trace" soon stopped 3 "$before"
check "and it runs again" grows 3
rec_stop
equal "the recorder ends with 0" 0 "$rec_status"

# ---- hits without a dump ----

record -T "$rule;cooldown=1h"
hit
dumps 1
grows 2
both pauses 2
before=${both% *}
hit
check "a hit in the cooldown stops it" soon stopped 2 "$before"
check "and it runs on" grows 2
both pauses 2
before=$both
for ((i = 0; i < 500; i++)); do
	hit
done
both pauses 2
equal "500 more, which get no dump either, stop nothing" "$before" "$both"
check "it runs" grows 2
rec_stop

record -T "$rule;cooldown=2s"
hit
dumps 1
grows 2
both pauses 2
before=${both% *}
hit
soon stopped 2 "$before"
check "with a short cooldown it runs, too" grows 2
# Hits pause nothing until the cooldown ends; the next one does, and gets a dump.
both pauses 2
before=${both% *}
until stopped 2 "$before"; do
	read -r -t 0.1 -u "$never"
	hit
	look
done
dumps 2
equal "when it is over, a hit stops the trace and gets a dump" 2 \
	"$(info_json "$path" '[.aux[] | select(.flags | index("paused"))] | length')"
rec_stop

# ---- rules that do not pause ----

record -T "$rule;post=1us"
both pauses 2
before=$both
kill -STOP "$rec_pid"
hit
check "a rule that wants what comes after leaves the trace alone" grows 2
both pauses 2
equal "nothing stopped it" "$before" "$both"
kill -CONT "$rec_pid"
dumps 1
check "its dump is right, too" "$area" "$path"
rec_stop
tap_end

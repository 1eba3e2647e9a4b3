#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 300
#
# Rings that are sized for a time: they grow with the load, which becomes tenfold, and a dump holds
# the time asked before, while and after they do, with each event once. If memory does not allow it,
# the warning, status and the dump say so. Nothing wakes the recorder while nothing is written, and
# the rings become small again.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "rings are resized" "rings of CPUs need root"
horizon=4

# Other tests count as well: only these two threads are recorded. The fast one is stopped until the
# load is to grow.
in_background "$loads/load_count" 10000 0 20000 >"$work/slow"
in_background "$loads/load_count" 10000 0 1500 >"$work/fast"
fast_pid=$bg_pid
wait_for 20 test -s "$work/slow"
wait_for 20 test -s "$work/fast"
kill -STOP "$fast_pid"
slow=$(head -n 1 "$work/slow")
fast=$(head -n 1 "$work/fast")
counting=(-C "$pair" --symbols off -v -e "raw_syscalls:sys_enter[id==121 && (common_pid==$slow || common_pid==$fast)]")

# grown NR: the rings were replaced so often
grown() {
	[ "$(grep -c 'its rings had' "$work/err")" -ge "$1" ]
}

# times_grown: by now
times_grown() {
	grep -c 'its rings had' "$work/err"
}

# held DUMP: whole milliseconds that the ring with the least holds
held() {
	"$RINGBACK" info --json "$1" | jq '[.rings[] | (.to - .from) / 1000000 | floor] | min'
}

# once TID DUMP: every number that the thread counted in the time asked is there, once
once() {
	"$RINGBACK" script --json --tid "$1" --from "-${horizon}s" "$2" | jq '.fields.args[0]' | sort -n |
		awk 'NR > 1 && $1 != last + 1 { bad++ } { last = $1 } END { print "# " NR " numbers, " bad + 0 " not the next"; exit NR < 10000 || bad }'
}

# sideband_wakeups: of the recorder so far
sideband_wakeups() {
	"$RINGBACK" status --json | jq '.sideband.wakeups'
}

# asleep SECONDS: $wakes: the recorder's context switches meanwhile; $explained: those that processes
# of others may have caused through the sideband
asleep() {
	local before sideband

	sideband=$(sideband_wakeups)
	before=$(switches)
	sleep "$1"
	wakes=$(($(switches) - before))
	explained=$((3 * ($(sideband_wakeups) - sideband)))
	echo "# $wakes context switches in $1 s, $explained of them may be the sideband's"
}

# ten_times: dumps while the rings grow, and when they have; $while $after: their paths
ten_times() {
	rm -f "$work"/dumps/*
	rec_start "${counting[@]}" --memory 512M --horizon ${horizon}s || return 1
	sleep $((2 * horizon))
	before=$(times_grown)
	kill -CONT "$fast_pid"
	wait_for 20 grown $((before + 1))
	sleep 0.3
	while=$(dump_now) || return 1
	sleep $((horizon + 1))
	after=$(dump_now) || return 1
	"$RINGBACK" status --json >"$work/status"
	kill -STOP "$fast_pid"
	echo "# $before changes before the load grew, $(times_grown) in all; held $(held "$while") and $(held "$after") ms"
}

for try in 1 2 3; do
	while='' after=''
	ten_times || break
	[ "$(held "$while")" -ge $((horizon * 1000)) ] && [ "$(held "$after")" -ge $((horizon * 1000)) ] && break
	[ "$try" = 3 ] || rec_stop
done
if [ -n "$after" ]; then
	check "rings have grown with the load" grown $((before + 1))
	check "a dump made meanwhile holds the time asked" test "$(held "$while")" -ge $((horizon * 1000))
	check "and each event once" once "$slow" "$while"
	check "a dump made later holds the time asked" test "$(held "$after")" -ge $((horizon * 1000))
	check "and each event once, though rings were replaced" once "$slow" "$after"
	"$RINGBACK" info "$after" >"$work/info"
	check "info says what was asked and held" grep -q "$horizon s asked; CPU [01] holds least" "$work/info"
	check "and that memory did allow it" eval '! grep -q "does not allow" "$work/info"'
	check "the JSON has it" eval '"$RINGBACK" info --json "$after" | jq -e ".channels[0].horizon_asked_ns == ${horizon}000000000"'
	rec_stop
	check "the recorder ends with 0" test "$rec_status" = 0
else
	not_ok "dumps while the load grows" "$(cat "$work/err")"
fi

# ---- memory that is not enough ----

# is_short: a ring holds less than was asked, since memory does not allow more
is_short() {
	"$RINGBACK" status --json | jq -e '.channels[0].short_rings > 0' >/dev/null
}

if rec_start "${counting[@]}" --memory 8M --horizon 8s; then
	kill -CONT "$fast_pid"
	check "a ring that memory does not allow its size is found" wait_for 60 is_short
	check "and warned of" wait_for 90 grep -q "warning: channel events: its rings can't hold 8 s: .* and --memory (8 MiB) allows no larger one" "$work/err"
	"$RINGBACK" status >"$work/status"
	check "status says what was asked and that it is not held" grep -q 'events: 8.0 s asked; memory does not allow it (--memory)' "$work/status"
	check "and of which CPUs" grep -q 'CPU [01]: .* in a ring of .*, .* a second, too small' "$work/status"
	check "metrics have it" eval '"$RINGBACK" status --metrics | grep -q "^ringback_channel_short_rings{.*channel=\"events\"} [12]"'
	check "and what was asked" eval '"$RINGBACK" status --metrics | grep -q "^ringback_channel_horizon_asked_seconds{.*channel=\"events\"} 8.0"'
	path=$(dump_now)
	check "info of a dump says it" eval '"$RINGBACK" info "$path" | tr -d "\n" | tr -s " " | grep -q "8 s asked; CPU [01] holds least, .*: memory does not allow more (--memory)"'
	check "the flags of the rings, too" eval '"$RINGBACK" info --json "$path" | jq -e "[.rings[].flags[]] | index(\"short\")"'
	check "all rings stay within the memory" eval '"$RINGBACK" status --json | jq -e "[.channels[0].rings[].ring_bytes] | add * 2 <= 8388608"'
	asleep 8
	check "looks at it are rare, though it is written all the time" test "$wakes" -le $((30 + explained))
	kill -STOP "$fast_pid"
	rec_stop
else
	not_ok "a recorder with little memory" "$(cat "$work/err")"
fi

# ---- rest ----

# shrunk: all rings are small
shrunk() {
	"$RINGBACK" status --json | jq -e '[.channels[0].rings[].ring_bytes] | max <= 65536' >/dev/null
}

# Only this test's load is recorded.
mine=rest$$
cp "$loads/load_switch" "$work/$mine"
if rec_start -C "$pair" --symbols off -v -e "sched:sched_switch[prev_comm==\"$mine\"]" --memory 64M --horizon 1s; then
	check "rings that nothing is written to become small" wait_for 60 shrunk
	sleep 3
	asleep 10
	check "and do not wake the recorder" test "$wakes" -le $((5 + explained))
	before=$(times_grown)
	in_background "$work/$mine" 1000 >"$work/switches"
	check "but grow as soon as they are written to" wait_for 20 grown $((before + 1))
	kill "$bg_pid"
	rec_stop
	check "the recorder ends with 0 again" test "$rec_status" = 0
else
	not_ok "a recorder at rest" "$(cat "$work/err")"
fi

# ---- a keeper ----

# Killed after rings were replaced, the recorder leaves the new ones.
: >"$work/keep.err"
"$RINGBACK" keep 2>"$work/keep.err" &
wait_for 20 grep -q "^ringback: keeping" "$work/keep.err"
kept=("${counting[@]}" --memory 512M --horizon "${horizon}s")
if rec_start "${kept[@]}"; then
	kill -CONT "$fast_pid"
	wait_for 20 grown 2
	sleep $((horizon + 2))
	kill -KILL "$rec_pid"
	wait "$rec_pid" 2>/dev/null
	rec_start "${kept[@]}"
	check "rings that were replaced are taken over" grep -q "the rings of the recorder before are taken over" "$work/err"
	check "with their size" eval '"$RINGBACK" status --json | jq -e "[.channels[0].rings[].ring_bytes] | max > 1048576"'
	path=$(dump_now)
	check "and hold the time asked" test "$(held "$path")" -ge $((horizon * 1000))
	check "and each event once" once "$fast" "$path"
	rec_stop
	check "the recorder that took them over ends with 0" test "$rec_status" = 0
else
	not_ok "a recorder with a keeper" "$(cat "$work/err")"
fi

# ---- what a time costs, and what can't be ----

"$RINGBACK" record --config /dev/null --dry-run -a --memory 64M --horizon 30s --preset sched >"$work/plan" 2>&1
check "--dry-run says what a time costs" grep -q 'channel sched: 2 banks a CPU, .* resized to hold 30 s: 128 MiB of memory for each MiB a second that a CPU writes; with all others at most 64 MiB' "$work/plan"
"$RINGBACK" record --config /dev/null -p $$ --channel 'a:cpu-clock/freq=99/;size=30s' >"$work/plan" 2>&1
check "rings of processes are refused a time" grep -q "rings of processes can't have a time as their size" "$work/plan"
"$RINGBACK" record --config /dev/null -a --memory 0 --horizon 30s >"$work/plan" 2>&1
check "no memory for it is refused" grep -q "can't hold a time without memory" "$work/plan"
tap_end

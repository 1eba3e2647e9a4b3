#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of recorder.sh
#
# In the guest: traces that their driver ends, or does not start. The recorder starts them again, and
# each dump tells when they stood. It sleeps while they run, however many context switches there
# are. Checks use order, never durations.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/vm/guest/module.sh

area=$loads/tool_area
at_end+=("for i in lose silent refuse; do echo 0 >$parameters/\$i; done; echo 15 >$parameters/odd")
set_to rate 2048

record() {
	rm -f "$work"/dumps/*.rbd
	rec_start -a --symbols off --channel "trace:rb_aux_count//;size=16K"
}

# dump: makes a dump; sets path, and $said to the message about it
dump() {
	path=$(dump_now)
	said=$(grep 'dump: ' "$work/err" | tail -n 1)
	"$RINGBACK" info --json "$path" >"$work/info.json"
}

# stops JQ-EXPRESSION: of the stops of CPU 1 in the dump
stops() {
	jq -c "[.aux[] | select(.cpu == 1) | .stops[]] | $1" "$work/info.json"
}

# others: the stops of all other CPUs
others() {
	jq '[.aux[] | select(.cpu != 1) | .stops[]] | length' "$work/info.json"
}

# ---- the recorder sleeps while traces run ----

record
# ring_turns: how often the ring of context switches of CPU 2 was overwritten
ring_turns() {
	jq '[.rings[] | select(.cpu == 2) | .overwritten_bytes / .ring_bytes] | .[0] | floor' "$work/info.json"
}
# Two processes that wake each other: the ring of CPU 2 goes around, which wakes no one.
switching() {
	taskset -c 2 bash -c "coproc cat; for ((i = 0; i < $1; i++)); do echo >&\${COPROC[1]}; read -r -u \${COPROC[0]}; done"
}
switching 300
for ((i = 0; i < 10; i++)); do
	before=$(switches)
	switching 6000
	after=$(switches)
	[ "$before" != "$after" ] || break
done
equal "no thread of the recorder runs while threads switch and traces run" "$before" "$after"
dump
check "meanwhile the ring of context switches was overwritten" test "$(ring_turns)" -ge 1
equal "no trace stood" "0 0" "$(stops length) $(others)"
check "which the message about the dump says" grep -q 'nothing lost' <<<"$said"

# ---- data is lost ----

set_to odd 2
set_to lose 3
wait_for 30 grep -q 'the trace of CPU 1, channel trace, ended: its driver lost data' "$work/err"
set_to lose 0
ticked 2 1 rb_aux_count
dump
check "a trace whose driver loses data is started again" test "$(stops length)" -ge 1
# In a slow guest the restarted trace may seem silent, too.
equal "the dump has the times, in order, before the trigger" '[true,true,true]' \
	"$(stops '[(map(.reason == "lost") | any), (map(.from < .to and .stood_ns > 0) | all), ([.[] | .from, .to] | . == sort)]')"
equal "each stop's length is its own" true "$(stops '[.[] | select(.count == 1) | .to - .from == .stood_ns] | all')"
equal "other traces did not stand" 0 "$(others)"
check "the message says so" grep -q '1 trace stood for up to' <<<"$said"
check "and so do info" eval '"$RINGBACK" info "$path" | tr -s "\n " " " |
	grep -q "no hardware trace of CPU 1 .*from -.* to -.*: its driver lost data and ended it"'
check "and why" eval '"$RINGBACK" why "$path" | grep -q "the hardware trace of CPU 1 "'
check "and the report" eval '"$RINGBACK" report "$path" | grep -q "no hardware trace of CPU 1"'
check "what was written around the stops is there, in order" "$area" "$path"
dump
equal "the next dump says nothing of them" 0 "$(stops length)"

# A driver that always loses data: the recorder neither gives up nor spins.
set_to lose 1
before=$(switches)
sleep 3
after=$(switches)
dump
set_to lose 0
check "one that loses data all the time is started again and again" test "$(stops 'map(.count) | add')" -ge 2
echo "# in 3 s: $(stops 'map(.count) | add') stops, switches of threads: $before $after"

# ---- the recorder is not there ----

ticked 2 1 rb_aux_count
dump
kill -STOP "$rec_pid"
set_to lose 2
ticked 100 0 rb_aux_count
set_to lose 0

kill -USR2 "$rec_pid"
kill -CONT "$rec_pid"
wait_for 30 eval '[ "$(tail -n 1 "$work/out")" != "$path" ]'
path=$(tail -n 1 "$work/out")
"$RINGBACK" info --json "$path" >"$work/info.json"
equal "the next dump has the stop too, up to the dump at most" '[1,"lost",true]' \
	"$(stops "[length, .[0].reason, .[0].to <= ($(jq '[.aux[] | select(.cpu == 1) | .stop] | .[0]' "$work/info.json"))]")"
ticked 2 1 rb_aux_count
rec_stop
equal "the recorder ends with 0" 0 "$rec_status"

# ---- the CPU goes offline ----

# of_3 JQ-EXPRESSION: of the stops of CPU 3 in the dump
of_3() {
	jq -c "[.aux[] | select(.cpu == 3) | .stops[]] | $1" "$work/info.json"
}
offline=/sys/devices/system/cpu/cpu3/online
at_end+=("echo 1 >$offline")
set_to odd 8
record
kill -STOP "$rec_pid"
set_to lose 2
ticked 50 0 rb_aux_count
set_to lose 0
echo 0 >$offline
kill -CONT "$rec_pid"
wait_for 30 grep -q 'CPU 3 went offline' "$work/err"
dump
equal "a CPU that went offline after its trace had ended: the dump has the stop" '["lost"]' "$(of_3 'map(.reason)')"
echo 1 >$offline
wait_for 30 grep -q 'CPU 3 came online and is recorded' "$work/err"
ticked 2 3 rb_aux_count
set_to lose 3
wait_for 30 grep -q 'the trace of CPU 3, channel trace, ended' "$work/err"
set_to lose 0
check "when it is back, its new trace is watched, too" ticked 2 3 rb_aux_count
dump
check "and the dump has its stops" test "$(of_3 length)" -ge 1
rec_stop
set_to odd 15

# ---- the driver stops without a word ----

set_to silent 5
record
in_background taskset -c 1 bash -c 'while :; do sleep 0.05; done'
sleep 2
dump
equal "a trace that ended silently is told of" '["silent",true]' "$(stops '.[-1] | [.reason, .from < .to]')"
check "info says how it was found" eval '"$RINGBACK" info "$path" | tr -s "\n " " " |
	grep -q "no hardware trace of CPU 1 .*: nothing was written although threads ran"'
set_to silent 0
dump
ticked 2 1 rb_aux_count
check "the dump has started it again" test $? = 0
rec_stop

# ---- the driver does not start ----

set_to refuse 2
record
wait_for 30 grep -q 'the trace of CPU 1, channel trace, does not run: its driver did not start it' "$work/err"
ticked 3 2 rb_aux_count
dump
equal "a trace that never ran: up to the dump" '[["refused",true,true]]' \
	"$(stops 'map([.reason, .from < .to, .to > -10000000000])')"
equal "the other traces run" 0 "$(others)"
set_to refuse 0
check "when the driver is willing again, the trace runs" ticked 2 1 rb_aux_count
dump
equal "and the next dump has how long it did not" '["refused",true]' "$(stops '[(.[0].reason), (map(.to < 0) | all)]')"
dump
equal "the one after that, nothing" 0 "$(stops length)"
rec_stop
equal "the recorder ends with 0" 0 "$rec_status"
tap_end

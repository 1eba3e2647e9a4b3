#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: it floods what every recorder hears of processes
#
# Bad timing: forks while the banks are exchanged, blocked readers of the recorder's output, endless
# signals, a sideband overflow during a dump, the end of recording within a trigger's post time, a
# failed dump between two good ones.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# field NAME LINE
field() {
	sed -n "s/.*\b$1=\(-\?[0-9]*\).*/\1/p" <<<"$2"
}

# sum FILTER DUMP...: the sum of a number in `info --json`
sum() {
	local filter=$1 f

	shift
	for f; do info_json "$f" "$filter"; done | paste -sd+ | bc
}

# --- threads created while the banks are exchanged: inherited events are of both banks or none
: >"$work/out"
: >"$work/err"
"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -m 64M --dump-on-exit -e 'raw_syscalls:sys_enter[id==121]' -- \
	"$loads/load_relay" 3 >"$work/out" 2>"$work/err" </dev/null &
rec_pid=$!
wait_for 20 grep -q '^ringback: recording' "$work/err"
while dump_now >/dev/null 2>&1; do sleep 0.03; done
wait "$rec_pid"
grep 'rbd$' "$work/out" >"$work/paths"
mapfile -t paths <"$work/paths"
result=$("$loads/tool_gap" 0 "${paths[@]}")
echo "# ${#paths[@]} dumps: $result"
check "there were dumps while threads came and went" test "${#paths[@]}" -gt 3
check "the rings were large enough" test "$(sum '[.rings[].overwritten_bytes] | add' "${paths[@]}")" = 0
check "no system call of a relay of threads is missing" test "$(field missing "$result")" = 0
check "up to its last" test "$(field numbers "$result")" -ge "$(grep -v rbd "$work/out")"
check "what the spare banks dropped is no loss" test "$(sum '[.rings[].lost] | add' "${paths[@]}")" = 0
rm -f "$work"/dumps/*

# --- a system-wide flood: events dropped by a bank between its pause and its disabling are in the
# other bank
rec_start -a -m 4M -e raw_syscalls:sys_enter
in_background "$loads/load_count" 900 >"$work/count"
wait_for 5 test -s "$work/count"
for ((i = 0; i < 20; i++)); do dump_now >/dev/null; done
kill "$bg_pid"
rec_stop
mapfile -t paths <"$work/out"
echo "# dropped by spares: $(sum '[.rings[].lost_spare] | add' "${paths[@]}")"
check "nor is it with a flood in the whole system" test "$(sum '[.rings[].lost] | add' "${paths[@]}")" = 0
rm -f "$work"/dumps/*

# --- the recorder's output has no reader
mkfifo "$work/stuck"
exec 7<>"$work/stuck"
python3 -c 'import os
f = os.open("/dev/fd/7", os.O_WRONLY | os.O_NONBLOCK)
try:
    while os.write(f, b"\n" * 4096): pass
except BlockingIOError: pass'
"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -a -m 64K -e sched:sched_switch >&7 2>&7 </dev/null 7>&- &
rec_pid=$!
check "a recorder whose output is stuck records" wait_for 20 "$RINGBACK" status
a=$(timeout 100 "$RINGBACK" trigger)
b=$(timeout 100 "$RINGBACK" trigger)
check "makes a dump" test -s "$a"
check "and another" test -s "$b"
cat <&7 >"$work/read" &
reader=$!
wait_for 20 eval '[ "$(grep -c "rbd$" "$work/read")" = 2 ]'
kill "$reader"
wait "$reader" 2>/dev/null
check "who reads again gets the paths, in order" test "$(grep 'rbd$' "$work/read" | paste -sd' ')" = "$a $b"
python3 -c 'import os
f = os.open("/dev/fd/7", os.O_WRONLY | os.O_NONBLOCK)
try:
    while os.write(f, b"\n" * 4096): pass
except BlockingIOError: pass'
"$RINGBACK" trigger >/dev/null
kill -TERM "$rec_pid"
check "and it ends when asked to, stuck or not" wait_for 100 eval '! kill -0 "$rec_pid"'
rec_stop
equal "with 0" 0 "$rec_status"
exec 7>&-
rm -f "$work"/dumps/*

# --- endless signals
rec_start -a -m 64K -e sched:sched_switch
(while kill -USR2 "$rec_pid"; do :; done) 2>/dev/null &
flood=$!
a=$(timeout 100 "$RINGBACK" trigger)
check "while signals flood in, dumps are finished" test -s "$a"
check "and questions answered" timeout 100 "$RINGBACK" status
kill -TERM "$rec_pid"
wait_for 20 eval '! kill -0 "$rec_pid"'
check "and it can be stopped" eval '! kill -0 "$rec_pid" 2>/dev/null'
kill "$flood" 2>/dev/null
wait "$rec_pid"
rm -f "$work"/dumps/*

# --- the sideband overflows while a dump is being written
rec_start -a -m 64K -e sched:sched_switch
in_background "$loads/load_map" 900
# In 0.1 s of CPU time it maps more than any ring of the sideband can hold.
overflow() {
	wait_for 20 has_used "$bg_pid" $(($(cpu_ticks "$bg_pid") + $(getconf CLK_TCK) / 10))
}
for ((i = 0; i < 8; i++)); do
	kill -STOP "$rec_pid"
	overflow
	kill -USR2 "$rec_pid"
	kill -CONT "$rec_pid"
	sleep 0.02
	kill -STOP "$rec_pid"
	overflow
	kill -CONT "$rec_pid"
	sleep 0.05
done
kill "$bg_pid"
path=$(dump_now)
check "records about processes were lost" test "$(info_json "$path" .sideband.nr_lost)" -gt 0
check "and /proc was read anew" test "$(info_json "$path" .sideband.nr_scans)" -gt 1
check "the dump is whole" "$RINGBACK" check "$path"
rec_stop
check "the recorder has survived it" test "$rec_status" = 0
rm -f "$work"/dumps/*

# --- recording ends within a trigger's post time
rec_start -a -m 64K -e sched:sched_switch --post 1h
"$RINGBACK" trigger >"$work/asked" 2>&1 &
posting() { [ "$("$RINGBACK" status --json | jq -r .state)" = post ]; }
wait_for 10 posting
rec_stop
path=$(cat "$work/out")
check "the dump that was asked for is made at once" test -s "$path"
check "its post time is what it got" test "$(info_json "$path" '.trigger.post_ns < 60e9')" = true
check "and so is how long the freeze took" test "$(info_json "$path" '.stats.signal_ns < 10e9')" = true
rm -f "$work"/dumps/*

# --- a failed dump between two good ones: its time is missing from the next dump, which must say so
mkdir "$work/limited"
printf '[record]\nmax-disk = 100M\n' >"$work/conf"
chmod 600 "$work/conf"
rec_start -a -m 1M -e sched:sched_switch -o "$work/limited" --config "$work/conf"
dump_now >/dev/null
printf '[record]\nmax-disk = 4K\n' >"$work/conf"
kill -HUP "$rec_pid"
wait_for 10 grep -q 'were read again' "$work/err"
sleep 0.3
check "a dump is refused" eval '! dump_now 2>/dev/null'
printf '[record]\nmax-disk = 100M\n' >"$work/conf"
kill -HUP "$rec_pid"
wait_for 10 eval '[ "$(grep -c "were read again" "$work/err")" = 2 ]'
path=$(dump_now)
check "the next one tells of a gap since the last that was written" \
	test "$(info_json "$path" '[.rings[].gap_ns] | min')" -gt 300000000
third=$(dump_now)
check "the one after that overlaps it" test "$(info_json "$third" '[.rings[].gap_ns] | max')" -lt 0
rec_stop
rec_start -a -m 64K -e sched:sched_switch --dump-on-exit --max-disk 4K
rec_stop
check "a dump on exit that fails is told by the exit status" test "$rec_status" = 1

# --- the same thread named twice
"$loads/load_count" 900 >"$work/count" &
load=$!
wait_for 5 test -s "$work/count"
rec_start -p "$load,$load" -m 1M -e 'raw_syscalls:sys_enter[id==121]'
check "a thread that is named twice is recorded once" \
	grep -q 'duplicates=0' <("$loads/tool_gap" 0 "$(dump_now)")
kill "$load"
rec_stop
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: a CPU goes offline
#
# The rings of a CPU that goes offline stay for the next dump; a CPU that comes online is recorded.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

online=/sys/devices/system/cpu/cpu1/online
if [ ! -w "$online" ]; then
	skip "CPU 1 goes off and on" "it can't be switched off here"
	tap_end
	exit
fi
at_end+=("echo 1 >$online")

# on_cpu DUMP CPU: number of events of that CPU
on_cpu() {
	"$RINGBACK" script --json --cpu "$2" "$1" | wc -l
}

rec_start -a -m 1M --symbols off -e 'raw_syscalls:sys_enter[id==121]'
"$loads/load_count" 0.1 4000 >"$work/c"
echo 0 >"$online"
wait_for 10 grep -q 'CPU 1 went offline' "$work/err"
path=$(dump_now)
check "what an offline CPU recorded is in the next dump" test "$(on_cpu "$path" 1)" -gt 1000
check "and the dump says that it went offline" \
	test "$(info_json "$path" '[.rings[] | select(.cpu == 1) | .flags[]] | any(. == "offline")')" = true
path=$(dump_now)
check "after that dump its rings are gone" test "$(info_json "$path" '[.rings[] | select(.cpu == 1)] | length')" = 0
echo 1 >"$online"
check "a CPU that comes online is noticed" wait_for 10 grep -q 'CPU 1 came online and is recorded' "$work/err"
"$loads/load_count" 0.1 4000 >"$work/c"
path=$(dump_now)
check "and recorded" test "$(on_cpu "$path" 1)" -gt 1000
check "the dump passes check" "$RINGBACK" check "$path"

# Offline and online again without a dump between: the next dump has the events from before and
# after.
"$loads/load_count" 0.05 1000 >"$work/c1"
echo 0 >"$online"
wait_for 10 eval '[ "$(grep -c "CPU 1 went offline" "$work/err")" = 2 ]'
echo 1 >"$online"
wait_for 10 eval '[ "$(grep -c "CPU 1 came online" "$work/err")" = 2 ]'
"$loads/load_count" 0.05 1000 >"$work/c2"
path=$(dump_now)
for i in 1 2; do
	tid=$(head -n 1 "$work/c$i")
	check "load $i on CPU 1 is in the dump" test "$("$RINGBACK" script --json --cpu 1 --tid "$tid" "$path" | wc -l)" -gt 100
done

# A CPU goes offline and online at the moment of a trigger: the set of rings must not change during
# the dump.
for i in 1 2 3 4 5; do
	kill -STOP "$rec_pid"
	echo $((i % 2)) >"$online"
	echo $(((i + 1) % 2)) >"$online"
	kill -USR2 "$rec_pid"
	kill -CONT "$rec_pid"
	"$loads/load_count" 0.05 >"$work/c"
done
echo 1 >"$online"
check "messages about CPUs that come with a trigger wait for its dump" "$RINGBACK" check "$(dump_now)"
# It came online twice before, and three times in the loop and after it.
wait_for 20 eval '[ "$(grep -c "CPU 1 came online" "$work/err")" -ge 5 ]'
"$loads/load_count" 0.1 4000 >"$work/c"
check "and are heard then" test "$(on_cpu "$(dump_now)" 1)" -gt 100
rec_stop
check "the recorder ends with 0" test "$rec_status" = 0

# A process's events outlive their CPU and are inherited by its children: the same rings continue,
# also on a CPU that was offline at the start.
"$loads/load_count" 1000 >"$work/c" &
load=$!
wait_for 10 test -s "$work/c"
echo 0 >"$online"
rec_start -p "$load" -m 16M --symbols off -e 'raw_syscalls:sys_enter[id==121]'
for turn in 1 2; do
	echo 1 >"$online"
	wait_for 20 eval "[ \"\$(grep -c 'CPU 1 came online and is recorded' \"$work/err\")\" = $turn ]"
	dump_now >/dev/null
	# The load moves every 5 ms, but may be delayed.
	for ((i = 0; i < 50; i++)); do
		path=$(dump_now)
		[ "$(on_cpu "$path" 1)" = 0 ] || break
	done
	check "turn $turn: a process is recorded on a CPU that came online" test "$(on_cpu "$path" 1)" -gt 0
	check "turn $turn: with one ring a CPU" test "$(info_json "$path" '[.rings[].cpu] | length == (unique | length)')" = true
	check "turn $turn: and each call once" \
		grep -q 'duplicates=0' <("$loads/tool_gap" 0 "$path")
	[ "$turn" = 2 ] || echo 0 >"$online"
done
kill "$load"
rec_stop
check "that recorder ends with 0 too" test "$rec_status" = 0

# A CPU comes and goes while its rings are being replaced by larger ones.
rec_start -a --memory 128M --horizon 2s --symbols off -v -e 'raw_syscalls:sys_enter[id==121]'
in_background "$loads/load_count" 1000 0 500 >"$work/c"
for i in 1 2 3 4 5 6; do
	echo 0 >"$online"
	sleep "0.$i"
	echo 1 >"$online"
	sleep "0.$i"
done
wait_for 20 eval '[ "$(grep -c "CPU 1 came online and is recorded" "$work/err")" = 6 ]'
wait_for 60 grep -q 'CPU 1: its rings had' "$work/err"
path=$(dump_now)
check "rings that are resized follow CPUs" test "$(on_cpu "$path" 1)" -gt 100
check "their dump passes check" "$RINGBACK" check "$path"
check "and has each call once" grep -q 'duplicates=0' <("$loads/tool_gap" "$(head -n 1 "$work/c")" "$path")
kill "$bg_pid"
rec_stop
check "the recorder that resized them ends with 0" test "$rec_status" = 0
tap_end

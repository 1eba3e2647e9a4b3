#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# Every kind of target records all of the target, including what starts later, and nothing else.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

getpgid='raw_syscalls:sys_enter[id==121]'

# look DUMP: sets $tids and $cpus of all its samples, sorted, joined by commas, and $tid_cpus, the
# same as "tid:cpu". Without jq, because there are hundreds of thousands of lines: each begins with
# "t", "time", "cpu", "tid". A ring may begin with a record of lost events, which has no thread.
look() {
	"$RINGBACK" script --json --event raw_syscalls:sys_enter "$1" | cut -d, -f3,4 | awk '!seen[$0]++' |
		sed 's/"cpu":\([0-9]*\),"tid":\([0-9]*\)/\2:\1/' >"$work/seen"
	tid_cpus=$(sort -t: -n "$work/seen" | paste -sd,)
	tids=$(cut -d: -f1 "$work/seen" | sort -un | paste -sd,)
	cpus=$(cut -d: -f2 "$work/seen" | sort -un | paste -sd,)
}

has() { # TID
	grep -q "^$1:" "$work/seen"
}

tid_of() { # FILE: the tid that a load_count wrote there
	head -n 1 "$1"
}

# started_to_count FILE: waits for the tid of a load_count in the background
started_to_count() {
	wait_for 20 test -s "$1"
}

# --- system-wide, CPU list ---
rec_start -a -m 4M -e "$getpgid"
"$loads/load_count" 0.1 >"$work/c"
path=$(dump_now)
look "$path"
check "-a records a process that starts later" has "$(tid_of "$work/c")"
equal "-a records it on every CPU that it was on" "$pair" \
	"$(grep "^$(tid_of "$work/c"):" "$work/seen" | cut -d: -f2 | sort -n | paste -sd,)"
check "-a has a ring for every CPU" test \
	"$(info_json "$path" '[.rings[].cpu] | sort | map(tostring) | join(",")')" = \
	"$(awk '/^processor/ { print $3 }' /proc/cpuinfo | sort -n | paste -sd,)"
rec_stop
last=${pair#*,}
rec_start -C "$last" -m 4M -e "$getpgid"
"$loads/load_count" 0.1 >"$work/c"
path=$(dump_now)
look "$path"
equal "-C records on the given CPU only" "$last" "$cpus"
check "-C has a ring for that CPU only" test "$(info_json "$path" '[.rings[].cpu] | join(",")')" = "$last"
rec_stop

# --- processes with their children ---
mkfifo "$work/gate"
in_background bash -c "read -r _ <$work/gate; $loads/load_count 0.1 >$work/child; exec $loads/load_count 600 >$work/self"
target=$bg_pid
rec_start -p "$target" -m 16M -e "$getpgid"
echo go >"$work/gate"
"$loads/load_count" 0.1 >"$work/other"
started_to_count "$work/self"
# Waits until some of its calls are in a ring, but no longer: they would overwrite the child's.
wait_for 20 written_since "$(written)"
kill -STOP "$target"
path=$(dump_now)
kill -CONT "$target"
kill "$target"
look "$path"
check "-p records the process" has "$target"
check "-p records a child that starts later" has "$(tid_of "$work/child")"
equal "-p records nobody else" 2 "$(tr ',' '\n' <<<"$tids" | wc -l)"
rec_stop

# --- targets that end ---
# ended: target_ended in the status; nr_said: number of the recorder's messages about it
ended() {
	"$RINGBACK" status --json | jq .target_ended
}
nr_said() {
	grep -c '^ringback: .*the recorded processes have ended' "$work/err"
}
has_ended() {
	[ "$(ended)" = true ]
}

# Two processes; one starts a child that outlives it.
in_background bash -c "read -r _ <$work/gate; sleep 600 & echo \$! >$work/stays; wait"
a=$bg_pid
in_background sleep 600
b=$bg_pid
rec_start -p "$a,$b" -m 64K -e sched:sched_process_exit
echo go >"$work/gate"
wait_for 20 test -s "$work/stays"
child=$(cat "$work/stays")
at_end+=("kill $child 2>/dev/null")
kill "$b"
wait "$b"
check "of two processes one ends: the other is still recorded" test "$(ended) $(nr_said)" = "false 0"
kill "$a"
wait "$a"
check "so is a child of one that has ended" test "$(ended) $(nr_said)" = "false 0"
kill "$child"
unset 'at_end[-1]'
check "when all have ended, status says so" wait_for 10 has_ended
check "for people too" grep -q '^target: .*; all its processes have ended$' <("$RINGBACK" status)
path=$(dump_now)
check "the dump has their ends" test "$("$RINGBACK" script "$path" | grep -c sched_process_exit:)" = 3
rec_stop
check "the recorder has said so, once" test "$(nr_said)" = 1
in_background "$loads/load_switch" 600 >"$work/threads"
b=$bg_pid
wait_for 20 grep -q ready "$work/threads"
thread=$(find "/proc/$b/task" -mindepth 1 -maxdepth 1 | sed 's,.*/,,' | grep -vx "$b" | head -n 1)
for how in "" --no-inherit; do
	# shellcheck disable=SC2086 # an option or none
	rec_start -t "$thread" $how -m 64K -e sched:sched_process_exit
	check "a thread that runs is recorded${how:+ with }$how" test "$(ended)" = false
	[ -z "$how" ] || kill "$b"
	[ -z "$how" ] || check "that it ended is noticed$how" wait_for 10 has_ended
	rec_stop
done
rec_start -a -m 64K -e sched:sched_process_exit
check "the whole system does not end" test "$(ended)" = false
rec_stop

# --- threads ---
in_background "$loads/load_count" 600 >"$work/a"
a=$bg_pid
in_background "$loads/load_count" 600 >"$work/b"
b=$bg_pid
started_to_count "$work/a"
started_to_count "$work/b"

# is_on PID CPU
is_on() {
	awk -v cpu="$2" '{ sub(/.*\) /, ""); exit $37 != cpu }' "/proc/$1/stat"
}

# to_and_fro PID: waits until it has been on each of its CPUs; before it leaves one it makes at
# least 200 calls
to_and_fro() {
	local cpu

	for cpu in 0 "$last" 0 "$last"; do wait_for 20 is_on "$1" "$cpu"; done
}

# counting ARG...: makes a dump of a and b, which are stopped while it is read
counting() {
	kill -CONT "$a" "$b"
	rec_start "$@" -m 4M -e "$getpgid"
	to_and_fro "$a"
	to_and_fro "$b"
	path=$(dump_now)
	kill -STOP "$a" "$b"
	rec_stop
	look "$path"
}

counting -t "$a"
equal "-t records that thread only" "$a" "$tids"
counting -t "$a" -C 0
equal "-C with -t records that thread on that CPU" "$a:0" "$tid_cpus"
counting -t "$a" --no-inherit
check "--no-inherit has one ring for the thread" test "$(info_json "$path" '.rings | length')" = 1
equal "and records it on every CPU" "$a $pair" "$tids $cpus"
kill "$a" "$b"
kill -CONT "$a" "$b"
wait "$a" "$b"

# --- own command ---
"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" --dump-on-exit -m 4M -e "$getpgid" -- \
	bash -c "$loads/load_count 0.1 >$work/c; exit 7" >"$work/out" 2>"$work/err"
status=$?
check "-- COMMAND ends with the command's status" test "$status" = 7
path=$(cat "$work/out")
look "$path"
check "-- COMMAND records what the command starts" has "$(tid_of "$work/c")"
"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -m 64K -e "$getpgid" -- sh -c 'kill -9 $$' >"$work/out" 2>"$work/err"
check "a command that is killed gives 128 + signal" test $? = 137
"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -m 64K -e "$getpgid" -- /no/such/command >"$work/out" 2>"$work/err"
check "a command that is not there is an error" grep -q '/no/such/command' "$work/err"

# The command's children end with it.
"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -m 64K -e "$getpgid" -- \
	sh -c 'trap "echo told >$0; exit" TERM; echo $$ >$0.pid; while :; do sleep 0.05; done' "$work/told" \
	>"$work/out" 2>"$work/err" &
pid=$!
wait_for 20 test -s "$work/told.pid" && kill -TERM $pid
wait $pid
check "told to stop, record ends its command too" test "$(cat "$work/told" 2>/dev/null)" = told

# --- cgroups ---
# in_cgroup DIR COMMAND...
in_cgroup() {
	bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$@"
}

cgroup_test() {
	local what=$1 dir=$2

	mkdir -p "$dir"
	at_end+=("rmdir $dir 2>/dev/null")
	rec_start --cgroup "$dir" -m 4M -e "$getpgid" || { not_ok "$what" "$(cat "$work/err")"; return; }
	in_cgroup "$dir" "$loads/load_count" 0.1 >"$work/in"
	"$loads/load_count" 0.1 >"$work/other"
	path=$(dump_now)
	rec_stop
	look "$path"
	equal "$what: its members are recorded, and nobody else" "$(tid_of "$work/in")" "$tids"
	rmdir "$dir"
}

# A v1 hierarchy disappears when the kernel has released its last group, a moment after rmdir.
v1_is_gone() {
	awk '$1 == "perf_event" { exit $2 != 0 }' /proc/cgroups && return
	mount -t cgroup -o perf_event none "$work/cg1" && umount "$work/cg1"
	return 1
}

leave_v1() {
	umount "$work/cg1"
	wait_for 10 v1_is_gone
}

v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "$v2" ]; then
	cgroup_test "--cgroup in the unified hierarchy" "$v2/ringback-test-$$"
else
	mkdir "$work/cg2"
	if mount -t cgroup2 none "$work/cg2"; then
		at_end+=("umount $work/cg2")
		cgroup_test "--cgroup in the unified hierarchy" "$work/cg2/ringback-test-$$"
	else
		skip "--cgroup in the unified hierarchy" "it can't be mounted"
	fi
fi
mkdir "$work/cg1"
if awk '$1 == "perf_event" { f = 1 } END { exit !f }' /proc/cgroups &&
	mount -t cgroup -o perf_event none "$work/cg1" 2>/dev/null; then
	at_end+=(leave_v1)
	cgroup_test "--cgroup in a v1 hierarchy" "$work/cg1/ringback-test-$$"
else
	skip "--cgroup in a v1 hierarchy" "perf_event can't be mounted as v1"
fi
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# Every way to say what is recorded records that, all of it, also what starts later, and nothing else.
. tests/tap.sh
. tests/recorder.sh

getpgid='raw_syscalls:sys_enter[id==121]'

# look DUMP: $tids and $cpus, of all its samples, sorted, with commas between; $tid_cpus, the same as "tid:cpu". There are
# hundreds of thousands, hence no jq: "t", "time", "cpu", "tid" come first in a line.
look() {
	"$RINGBACK" script --json "$1" | cut -d, -f3,4 | awk '!seen[$0]++' |
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
check "-a records it on every CPU that it was on" test \
	"$(grep "^$(tid_of "$work/c"):" "$work/seen" | cut -d: -f2 | sort -n | paste -sd,)" = "$pair"
check "-a has a ring for every CPU" test \
	"$(info_json "$path" '[.rings[].cpu] | sort | map(tostring) | join(",")')" = \
	"$(awk '/^processor/ { print $3 }' /proc/cpuinfo | sort -n | paste -sd,)"
rec_stop
last=${pair#*,}
rec_start -C "$last" -m 4M -e "$getpgid"
"$loads/load_count" 0.1 >"$work/c"
path=$(dump_now)
look "$path"
check "-C records on the given CPU only" test "$cpus" = "$last"
check "-C has a ring for that CPU only" test "$(info_json "$path" '[.rings[].cpu] | join(",")')" = "$last"
rec_stop

# --- processes with what they start ---
mkfifo "$work/gate"
in_background bash -c "read -r _ <$work/gate; $loads/load_count 0.1 >$work/child; exec $loads/load_count 600 >$work/self"
target=$bg_pid
rec_start -p "$target" -m 16M -e "$getpgid"
echo go >"$work/gate"
"$loads/load_count" 0.1 >"$work/other"
started_to_count "$work/self"
sleep 0.05
path=$(dump_now)
kill "$target"
look "$path"
check "-p records the process" has "$target"
check "-p records a child that starts later" has "$(tid_of "$work/child")"
check "-p records nobody else" test "$(tr ',' '\n' <<<"$tids" | wc -l)" = 2
rec_stop

# --- threads ---
in_background "$loads/load_count" 600 >"$work/a"
a=$bg_pid
in_background "$loads/load_count" 600 >"$work/b"
b=$bg_pid
started_to_count "$work/a"
started_to_count "$work/b"

# counting ARG...: a dump of what a and b do in 0.2 s; they rest while it is looked at
counting() {
	kill -CONT "$a" "$b"
	rec_start "$@" -m 4M -e "$getpgid"
	sleep 0.2
	path=$(dump_now)
	kill -STOP "$a" "$b"
	rec_stop
	look "$path"
}

counting -t "$a"
check "-t records that thread only" test "$tids" = "$a"
counting -t "$a" -C 0
check "-C with -t records that thread on that CPU" test "$tid_cpus" = "$a:0"
counting -t "$a" --no-inherit
check "--no-inherit has one ring for the thread" test "$(info_json "$path" '.rings | length')" = 1
check "and records it on every CPU" test "$tids $cpus" = "$a $pair"
kill "$a" "$b"
kill -CONT "$a" "$b"
wait "$a" "$b"

# --- own command ---
"$RINGBACK" record --config /dev/null -o "$work/dumps" --dump-on-exit -m 4M -e "$getpgid" -- \
	bash -c "$loads/load_count 0.1 >$work/c; exit 7" >"$work/out" 2>"$work/err"
status=$?
check "-- COMMAND ends with the command's status" test "$status" = 7
path=$(cat "$work/out")
look "$path"
check "-- COMMAND records what the command starts" has "$(tid_of "$work/c")"
"$RINGBACK" record --config /dev/null -o "$work/dumps" -m 64K -e "$getpgid" -- sh -c 'kill -9 $$' >"$work/out" 2>"$work/err"
check "a command that is killed gives 128 + signal" test $? = 137
"$RINGBACK" record --config /dev/null -o "$work/dumps" -m 64K -e "$getpgid" -- /no/such/command >"$work/out" 2>"$work/err"
check "a command that is not there is an error" grep -q '/no/such/command' "$work/err"

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
	check "$what: its members are recorded, and nobody else" test "$tids" = "$(tid_of "$work/in")"
	rmdir "$dir"
}

# A v1 hierarchy goes away with its mount once the kernel has let go of its last group, a moment after rmdir.
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

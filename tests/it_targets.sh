#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every way to say what is recorded records that, all of it, also what starts later, and nothing else.
. tests/tap.sh
. tests/recorder.sh

getpgid='raw_syscalls:sys_enter[id==121]'

# tids DUMP: the threads that samples are about
tids() {
	"$RINGBACK" script --json "$1" | jq -r .tid | sort -un
}

cpus() {
	"$RINGBACK" script --json "$1" | jq -r .cpu | sort -un | paste -sd,
}


# --- system-wide, CPU list ---
rec_start -a -m 64M -e "$getpgid"
"$loads/load_count" 0.3 >"$work/c"
path=$(dump_now)
check "-a records a process that starts later" grep -qx "$(head -n 1 "$work/c")" <(tids "$path")
check "-a records on all CPUs" test "$(cpus "$path")" = "$(seq -s, 0 $(($(nproc --all) - 1)))"
rec_stop
rec_start -C 1 -m 64M -e "$getpgid"
"$loads/load_count" 0.3 >"$work/c"
path=$(dump_now)
check "-C records on the given CPU only" test "$(cpus "$path")" = 1
check "-C has a ring for that CPU only" test "$(info_json "$path" '.rings | length')" = 1
rec_stop

# --- processes with what they start ---
mkfifo "$work/gate"
bash -c "echo \$\$ >$work/pid; read -r _ <$work/gate; $loads/load_count 0.2 >$work/child; exec $loads/load_count 0.2 >$work/self" &
started+=("$!")
wait_for 5 test -s "$work/pid"
target=$(cat "$work/pid")
rec_start -p "$target" -m 64M -e "$getpgid"
echo go >"$work/gate"
"$loads/load_count" 0.2 >"$work/other"
# shellcheck disable=SC2016
wait_for 10 eval '[ "$(wc -l <"$work/self")" = 2 ]'
path=$(dump_now)
tids "$path" >"$work/tids"
check "-p records the process" grep -qx "$target" "$work/tids"
check "-p records a child that starts later" grep -qx "$(head -n 1 "$work/child")" "$work/tids"
check "-p records nobody else" test "$(wc -l <"$work/tids")" = 2
rec_stop

# --- threads ---
"$loads/load_count" 60 >"$work/a" &
started+=("$!")
"$loads/load_count" 60 >"$work/b" &
started+=("$!")
# shellcheck disable=SC2016
wait_for 5 eval '[ -s "$work/a" ] && [ -s "$work/b" ]'
a=$(head -n 1 "$work/a")
rec_start -t "$a" -m 64M -e "$getpgid"
sleep 0.2
path=$(dump_now)
check "-t records that thread only" test "$(tids "$path")" = "$a"
rec_stop
rec_start -t "$a" -C 0 -m 64M -e "$getpgid"
sleep 0.2
path=$(dump_now)
check "-C with -t records that thread on that CPU" test "$(tids "$path") $(cpus "$path")" = "$a 0"
rec_stop
rec_start -t "$a" --no-inherit -m 64M -e "$getpgid"
sleep 0.2
path=$(dump_now)
check "--no-inherit has one ring for the thread" test "$(info_json "$path" '.rings | length')" = 1
check "and records it on every CPU" test "$(tids "$path") $(cpus "$path")" = "$a 0,1"
rec_stop

kill "${started[@]}" 2>/dev/null

# --- own command ---
"$RINGBACK" record -o "$work/dumps" --dump-on-exit -m 64M -e "$getpgid" -- \
	bash -c "$loads/load_count 0.2 >$work/c; exit 7" >"$work/out" 2>"$work/err"
status=$?
check "-- COMMAND ends with the command's status" test "$status" = 7
path=$(cat "$work/out")
check "-- COMMAND records what the command starts" grep -qx "$(head -n 1 "$work/c")" <(tids "$path")
"$RINGBACK" record -o "$work/dumps" -m 64K -e "$getpgid" -- sh -c 'kill -9 $$' >"$work/out" 2>"$work/err"
check "a command that is killed gives 128 + signal" test $? = 137
"$RINGBACK" record -o "$work/dumps" -m 64K -e "$getpgid" -- /no/such/command >"$work/out" 2>"$work/err"
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
	rec_start --cgroup "$dir" -m 64M -e "$getpgid" || { not_ok "$what" "$(cat "$work/err")"; return; }
	in_cgroup "$dir" "$loads/load_count" 0.3 >"$work/in"
	"$loads/load_count" 0.2 >"$work/other"
	path=$(dump_now)
	check "$what: its members are recorded, and nobody else" \
		test "$(tids "$path")" = "$(head -n 1 "$work/in")"
	rec_stop
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

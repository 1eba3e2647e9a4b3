#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Namespaces and cgroups of tasks at the dump equal those in /proc: for tasks older than the
# recorder, newer ones, and ones that moved.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/helpers/cgroup.sh

only_root "namespaces and cgroups" "root may make them"

# of PID KIND: inode of its namespace
of() {
	readlink "/proc/$1/ns/$2" | tr -dc 0-9
}

# what_proc_says PID: the same in tool_comm's format
what_proc_says() {
	local kind

	printf 'tid=%s' "$1"
	for kind in net uts ipc pid user mnt cgroup; do printf ' %s=%s' $kind "$(of "$1" $kind)"; done
	printf ' in=%s\n' "$2"
}

# Ends the processes that are no children of this shell, then removes the empty cgroup.
others=()
end_others() {
	[ ${#others[@]} = 0 ] || kill "${others[@]}"
	[ -z "$cgroup" ] || wait_for 5 rmdir "$cgroup"
} 2>/dev/null
at_end+=(end_others)

# In the cgroup: starts a process on request and prints its pid.
mkfifo "$work/go" "$work/pids"
exec 8<>"$work/go" 9<>"$work/pids"
make_cgroup ringback-test
in_background unshare --net --uts --ipc bash -c "
	while read -r how <&8; do
		\$how sleep 1000 &
		echo \$! >&9
	done"
first=$bg_pid
# start HOW...: sets $pid
start() {
	echo "$*" >&8
	read -r -t 20 pid <&9
	others+=("$pid")
	wait_for 20 grep -q sleep "/proc/$pid/comm"
}
has_left() {
	[ "$(of "$first" net)" != "$(of $$ net)" ]
}
wait_for 20 has_left
[ -z "$cgroup" ] || echo "$first" >"$cgroup/cgroup.procs"

if ! rec_start -a -m 64K -e sched:sched_process_exec; then
	not_ok "the recorder starts" "$(cat "$work/err")"
	tap_end
	exit
fi
start
same=$pid
start unshare --net --mount
other=$pid
start nsenter "--net=/proc/$$/ns/net"
moved=$pid
path=$(dump_now)
check "it has been there, was born there, left, and moved: four processes" \
	test "$(printf '%s\n' "$(of "$first" net)" "$(of "$same" net)" "$(of "$other" net)" "$(of "$moved" net)" | sort -u | wc -l)" = 3

in=$cgroup_name
[ -n "$cgroup" ] || in=$("$loads/tool_comm" "$path" $$ | sed 's/.* in=//')
for who in first same other moved; do
	"$loads/tool_comm" "$path" "${!who}" >"$work/is"
	what_proc_says "${!who}" "$in" >"$work/want"
	check "$who: the dump says what /proc says" diff "$work/want" "$work/is"
done
if [ -n "$cgroup" ]; then
	"$loads/tool_comm" "$path" $$ >"$work/is"
	check "this shell is in another cgroup" test "$(grep -c "in=$cgroup_name" "$work/is")" = 0
else
	skip "this shell is in another cgroup" "no cgroup may be made here"
fi
rec_stop
tap_end

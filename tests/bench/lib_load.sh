#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034 # variables are for the benchmarks that source this
#
# Sourced, after lib.sh, by benchmarks that record the same three loads: a scheduler storm, a parallel compile, a server.
# Each runs in a process group of its own, $bg_pid, until end_group.
#
#	storm; rec_start -a -m 16M -e "$switches"; wait_for 60 full; path=$(dump_now); rec_stop; end_group

unset MAKEFLAGS MFLAGS MAKELEVEL
switches=sched:sched_switch,sched:sched_wakeup,sched:sched_waking
calls=raw_syscalls:sys_enter,raw_syscalls:sys_exit
faults=exceptions:page_fault_user

# in_group COMMAND: a line of shell
in_group() {
	setsid bash -c "$1" >/dev/null 2>&1 &
	bg_pid=$!
	at_end+=("kill -- -$bg_pid 2>/dev/null")
}

end_group() {
	kill -- "-$bg_pid"
	wait "$bg_pid" 2>/dev/null
}

storm() {
	in_group "exec '$loads/load_switch' 900"
}

compile() {
	in_group "while :; do make O='$work/o' -j$(($(nproc) + 1)) all; rm -rf '$work/o'; done"
}

server() {
	in_group "cd '$work' && redis-server --port 0 --unixsocket '$work/redis' --save '' &
		until [ -S '$work/redis' ]; do sleep 0.1; done
		redis-benchmark -s '$work/redis' -n 1000000000 -c 20 -q"
	wait_for 20 test -S "$work/redis"
}

have_server() {
	command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null
}

# Whether all rings have been written once.
full() {
	[ "$("$RINGBACK" status --json | jq '.channels[0].fill_percent')" -ge 99 ]
}

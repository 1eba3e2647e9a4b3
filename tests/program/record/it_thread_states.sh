#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A dump has the state of each thread at the freeze: what it waited for and who is at the other end,
# its affinity mask, scheduling and timer slack. With a target, only the target's. Dumps that the time
# limit cut short are repeated.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "states of threads" "other users' processes"

mkfifo "$work/end"
"$loads/load_blocked" <"$work/end" >"$work/waits" &
load=$!
exec 9>"$work/end"
if ! wait_for 60 grep -qx ready "$work/waits"; then
	not_ok "the load waits" "$(cat "$work/waits")"
	tap_end
	exit 1
fi

tid_of() {
	awk -v name="$1" '$1 == name { print $2 }' "$work/waits"
}

# state NAME FILTER: jq on the state of that thread
state() {
	jq -r --argjson tid "$(tid_of "$1")" ".threads.states[] | select(.tid == \$tid) | $2" "$work/info"
}

# whole_dump: a dump, $path; false when there was no time to read all threads and search all files
whole_dump() {
	path=$(dump_now)
	"$RINGBACK" info --json "$path" >"$work/info"
	jq -e '.threads | .left_out == 0 and .unsearched == 0' "$work/info" >"$work/whole"
}

record() {
	rec_start "$@" -e sched:sched_switch
	# Here and not in a function of tap.sh, for $path.
	if wait_for 60 whole_dump; then
		ok "$1: all threads are read"
	else
		not_ok "$1: all threads are read" "$(jq -c '.threads | del(.states)' "$work/info")"
	fi
	rec_stop
}

record -a
main=$(tid_of main)
equal "a thread in a mutex, and the thread that holds it" "S futex 2 $(tid_of mutex_holder)" \
	"$(state mutex '"\(.state) \(.syscall.name) \(.futex_word) \(.futex_owner)"')"
check "it has a wait channel" test -n "$(state mutex '.wchan // empty')"
equal "and six arguments of its system call" 6 "$(state mutex '.syscall.args | length')"
equal "the holder of a PI mutex" "futex $(tid_of pi_mutex_holder)" "$(state pi_mutex '"\(.syscall.name) \(.futex_owner)"')"
equal "the writer of a pipe" "read 3 pipe $main" \
	"$(state pipe_reader '"\(.syscall.name) \(.fd) \(.file | split(":")[0]) \(.peers | join(","))"')"
equal "the reader of a pipe" "write $main" "$(state pipe_writer '"\(.syscall.name) \(.peers | join(","))"')"
equal "the other end of a pipe in poll()" "3 $main" "$(state poller '"\(.fd) \(.peers | join(","))"')"
equal "the other end of a pipe in an epoll set" "3 $main" "$(state epoller '"\(.fd) \(.peers | join(","))"')"
equal "the other end of a unix socket" "unix $main" "$(state unix '"\(.protocol) \(.peers | join(","))"')"
equal "the listener where a unix connection is not accepted" "@load_blocked.$main $main" \
	"$(state unix_queued '"\(.remote) \(.peers | join(","))"')"
port=$(tid_of tcp_port)
equal "the other end of a TCP connection" "tcp 127.0.0.1:$port $main" "$(state tcp '"\(.protocol) \(.remote) \(.peers | join(","))"')"
equal "the listener where a TCP connection is not accepted" "127.0.0.1:$port $main" "$(state tcp_queued '"\(.remote) \(.peers | join(","))"')"
equal "the receiver of datagrams" "udp $main" "$(state udp '"\(.protocol) \(.peers | join(","))"')"
equal "the holder of a file lock" "flock $main" "$(state flock '"\(.syscall.name) \(.peers | join(","))"')"
equal "the master of a terminal" "$main" "$(state tty '.peers | join(",")')"
equal "an affinity mask" 0 "$(state on_cpu_0 .cpus)"
equal "the mask of the others" "$(awk '/Cpus_allowed_list/ { print $2 }' "/proc/$(tid_of paused)/status")" "$(state paused .cpus)"
equal "timer slack" 123456 "$(state with_slack .timer_slack_ns)"
equal "policy and nice value" "batch 5" "$(state in_batch '"\(.policy) \(.nice)"')"
equal "a stopped process, by which signal, and no other end" "T 19 null" "$(state stopped '"\(.state) \(.stop_signal) \(.nr_peers)"')"
equal "switches of a thread" "$(awk '/^voluntary/ { print $2 }' "/proc/$(tid_of paused)/status")" "$(state paused .voluntary)"
equal "kernel threads are marked" true "$(jq '.threads.states[] | select(.tid == 2) | .kernel' "$work/info")"
check "they were read after the freeze" jq -e '.threads.from > .trigger.freeze and .threads.to > .threads.from' "$work/info"
echo "# $(jq -r '.threads | "\(.states | length) threads in \((.to - .from) / 1000) us"' "$work/info")"
"$RINGBACK" info "$path" --all >"$work/text"
check "info names a lock's holder" grep -q "load_blocked ($(tid_of mutex)) in futex; lock held by load_blocked ($(tid_of mutex_holder))" "$work/text"
check "and the other end of a connection" eval 'tr -s "\n " " " <"$work/text" |
	grep -q "load_blocked ($(tid_of tcp)) in read tcp 127.0.0.1:[0-9]* > 127.0.0.1:$port; other end: load_blocked ($main)"'
lines=$("$RINGBACK" info "$path" | awk '/^threads/ { n = 1 } /^freeze/ { n = 0 } n { c++ } END { print c }')
check "info without --all is short" test "$lines" -ge 3 -a "$lines" -le 20

record -p "$(tid_of pipe_reader)"
equal "with a target, only its threads" "$(tid_of pipe_reader)" "$(jq -r '[.threads.states[].tid] | join(" ")' "$work/info")"
equal "with the other end outside of it" "$main" "$(state pipe_reader '.peers | join(",")')"

exec 9>&-
wait "$load"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: another test would wake the recorder
#
# The recorder sleeps: while a load writes more than 100,000 events a second into the rings for 30 s, it is switched to at most
# 5 times and uses at most 10 ms of CPU. Sideband wake-ups follow the number of processes, not of events.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# CPU time of the recorder in ms.
cpu_ms() {
	echo $(($(cpu_ticks "$rec_pid") * 1000 / $(getconf CLK_TCK)))
}

wakeups() {
	"$RINGBACK" status --json | jq '.sideband.wakeups'
}

if ! rec_start -a -m 1M -e sched:sched_switch,sched:sched_wakeup,sched:sched_waking,raw_syscalls:sys_enter,raw_syscalls:sys_exit; then
	not_ok "the recorder starts" "$(cat "$work/err")"
	tap_end
	exit
fi
# The thread that reads /proc at the start may go on beside the recording; it has the program's name.
has_read_proc() {
	[ "$(cat /proc/"$rec_pid"/task/*/comm | grep -cx ringback)" = 1 ]
}
check "the start is over" wait_for 20 has_read_proc
in_background "$loads/load_switch" 900 >"$work/load"
wait_for 20 grep -q ready "$work/load"

# Processes started since the machine did; two or three are this test's own.
forks() {
	awk '/^processes/ { print $2 }' /proc/stat
}

# measure: $rate, $switched, $cpu, and $others, $explained: what else the machine did, over 30 s
measure() {
	local bytes forks wakeups switches ms

	bytes=$(written)
	forks=$(forks)
	wakeups=$(wakeups)
	# Reading the status is the last thing that wakes it before the measurement.
	switches=$(switches)
	ms=$(cpu_ms)
	sleep 30
	cpu=$(($(cpu_ms) - ms))
	switched=$(($(switches) - switches))
	others=$(($(forks) - forks))
	# At most 160 bytes an event with this layout.
	rate=$((($(written) - bytes) / 30 / 160))
	# The promise is for a machine where no process starts. Where others start some, each wake-up for the sideband is
	# one that they caused: it goes to sleep again, and may be interrupted once. To take in a quarter of a ring is
	# less than 2 ms of CPU time.
	explained=0
	[ "$others" -le 50 ] || explained=$((2 * ($(wakeups) - wakeups)))
	echo "# at least $rate events/s; $switched context switches, $cpu ms CPU in 30 s; $others processes started, which explain $explained switches"
}

idle() {
	[ "$rate" -gt 100000 ] && [ "$switched" -le $((5 + explained)) ] && [ "$cpu" -le $((10 + explained)) ]
}

for _ in 1 2 3; do
	measure
	idle && break
	[ "$others" -gt 50 ] || break
done
kill "$bg_pid"
wait "$bg_pid" 2>/dev/null

check "more than 100,000 events a second were written" test "$rate" -gt 100000
check "the recorder was switched to at most 5 times" test "$switched" -le $((5 + explained))
check "the recorder used at most 10 ms of CPU" test "$cpu" -le $((10 + explained))

# Some hundred processes are far below a watermark of the sideband's rings; thousands are some wake-ups.
w0=$(wakeups)
for ((i = 0; i < 2000; i++)); do /bin/true; done
w1=$(wakeups)
echo "# $((w1 - w0)) sideband wake-ups for 2,000 processes"
check "2,000 processes cost some sideband wake-ups, not one each" test $((w1 - w0)) -le 200
rec_stop
check "it ends with 0" test "$rec_status" = 0
tap_end

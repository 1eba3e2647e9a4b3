#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: another test would wake the recorder
#
# The recorder sleeps: while a load writes more than 100,000 events a second into the rings for 30
# s, it has at most 5 context switches and uses at most 10 ms of CPU. Sideband wake-ups follow the
# number of processes, not of events.
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
# The thread that reads /proc at the start may run on after recording has begun; it has the
# program's name.
has_read_proc() {
	[ "$(cat /proc/"$rec_pid"/task/*/comm | grep -cx ringback)" = 1 ]
}
check "the start is over" wait_for 20 has_read_proc
in_background "$loads/load_switch" 900 >"$work/load"
wait_for 20 grep -q ready "$work/load"

# Processes started since boot; two or three are this test's own.
forks() {
	awk '/^processes/ { print $2 }' /proc/stat
}

# measure: sets $rate, $switched, $cpu, and for other activity of the machine $others, $explained,
# all over 30 s
measure() {
	local bytes forks wakeups switches ms

	bytes=$(written)
	forks=$(forks)
	wakeups=$(wakeups)
	# Reading the status must be the last wake-up before the measurement.
	switches=$(switches)
	ms=$(cpu_ms)
	sleep 30
	cpu=$(($(cpu_ms) - ms))
	switched=$(($(switches) - switches))
	others=$(($(forks) - forks))
	# With this layout an event takes at most 160 bytes.
	rate=$((($(written) - bytes) / 30 / 160))
	# The limit holds on a machine where no process starts. Processes started by others cause
	# sideband wake-ups: each means one sleep, and perhaps one interruption. Reading a quarter
	# of a ring takes less than 2 ms of CPU time.
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

# Some hundred processes stay far below the watermark of the sideband's rings; thousands cause a few
# wake-ups.
w0=$(wakeups)
for ((i = 0; i < 2000; i++)); do /bin/true; done
w1=$(wakeups)
echo "# $((w1 - w0)) sideband wake-ups for 2,000 processes"
check "2,000 processes cost some sideband wake-ups, not one each" test $((w1 - w0)) -le 200
rec_stop
check "it ends with 0" test "$rec_status" = 0
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Times of a target's threads in a dump, compared with the kernel's sums in /proc/TID/schedstat,
# over a period at the ends of which the target is stopped: redis under load, recorded as a process,
# as a thread, as a control group, and system-wide. For threads outside the target a dump has names
# but no times.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "a target's times are the kernel's" "only root may record others"

port=$((20000 + RANDOM % 20000))
in_background redis-server --port $port --save '' --dir "$work" >"$work/redis"
server=$bg_pid
answers() {
	[ "$(redis-cli -p $port ping)" = PONG ]
}
wait_for 30 answers
in_background redis-benchmark -p $port -n 100000000 -c 10 -q -t get >/dev/null 2>&1
client=$bg_pid

now_ns() {
	python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))'
}

# stands: true when all threads of the server are stopped
stands() {
	! awk '{ sub(/.*\) /, ""); print $1 }' /proc/"$server"/task/*/stat | grep -qv '^T'
}

# sums: "TID RAN WAITED RUNS" of each of its stopped threads
sums() {
	local task

	for task in /proc/"$server"/task/*; do
		echo "${task##*/} $(cat "$task/schedstat")"
	done | sort
}

# measured OPTION...: records; $work/dump: the dump, $work/true: differences of sums() between the
# stops, $work/told: the same times according to the dump
measured() {
	local from to

	rec_start -m 16M --preset sched "$@" || return 1
	kill -STOP "$server"
	wait_for 30 stands
	sums >"$work/before"
	from=$(now_ns)
	kill -CONT "$server"
	sleep 0.7
	kill -STOP "$server"
	wait_for 30 stands
	to=$(now_ns)
	sums >"$work/after"
	mv "$(dump_now)" "$work/dump"
	kill -CONT "$server"
	rec_stop
	"$loads/tool_times" "$work/dump" "$from" "$to" >"$work/told"
	join "$work/before" "$work/after" | awk '{ print $1, $5 - $2, $6 - $3, $7 - $4 }' >"$work/true"
	awk -v from="$from" '/^window/ { exit !($2 <= from) }' "$work/told"
}

# far SUM SLACK: threads with times that differ by more than 2 %, 1 ms, and SLACK ns per switch: the
# kernel's sums begin and end with a clock read of their own, some microseconds from the record.
# SUM: ran, or both (ran and waited). Threads outside a target have no times.
far() {
	awk -v sum="$1" -v slack="$2" '
		function of() { return sum == "ran" ? $2 : $2 + $3 }
		FNR == NR { told[$1] = of(); seen[$1] = $2 + $3 + $4 + $5; unknown[$1] = $5; next }
		seen[$1] {
			off = told[$1] - of()
			off = off < 0 ? -off : off
			if (off > of() / 50 + 1000000 + slack * $4 + unknown[$1])
				print "thread " $1 ": told " told[$1] " ns, true " of() ", in " $4 " runs; unknown " unknown[$1]
		}' "$work/told" "$work/true"
}

# exceeded COLUMN SLACK: likewise, threads with a larger number than the kernel's
exceeded() {
	awk -v column="$1" -v slack="$2" '
		FNR == NR { told[$1] = $column; seen[$1] = 1; next }
		seen[$1] && told[$1] > $column * 1.02 + 1000000 + slack * $4 {
			print "thread " $1 ": told " told[$1] " ns, true " $column ", in " $4 " runs"
		}' "$work/told" "$work/true"
}

# of_target NAME THREADS OPTION...: times equal the kernel's, waits are not longer; THREADS: number
# of threads with times
of_target() {
	local name=$1 threads=$2

	shift 2
	check "$name: the rings hold all of the time" measured "$@"
	equal "$name: its threads are told" "$threads" \
		"$(awk 'FNR == NR { own[$1] = 1; next } own[$1] && $2 + $4 > 0' "$work/true" "$work/told" | wc -l)"
	empty "$name: they ran as long as the kernel says" "$(far ran 30000)"
	empty "$name: they did not wait longer" "$(exceeded 3 30000)"
	empty "$name: of others no times are told" "$(awk '
		FNR == NR { own[$1] = 1; next }
		!/^window/ && !own[$1] && $2 + $3 + $4 > 0' "$work/true" "$work/told")"
	check "$name: but names, of those that came after it" grep -q ' 0 0 0 0 0 [a-z]' "$work/told"
	COLUMNS=100 "$RINGBACK" report "$work/dump" >"$work/report" 2>&1
	check "$name: the report says that others were not recorded" grep -q 'recorded threads only' "$work/report"
	check "$name: nor how busy the CPUs were" eval '! grep -q "busy: CPU" "$work/report"'
	"$RINGBACK" export -f pftrace -o "$work/pftrace" "$work/dump" 2>/dev/null
	protoc --proto_path=dump/view/export --decode perfetto.Trace dump/view/export/perfetto.proto <"$work/pftrace" | awk '
		/ (prev|next)_pid: / && $2 { n[$1 $2]++ } END { for (i in n) print i, n[i] }' | tr : ' ' >"$work/switches"
	empty "$name: pftrace has no runs of others" "$(awk '
		FNR == NR { own[$1] = 1; next } !own[$2]' "$work/true" "$work/switches")"
	empty "$name: and the begin and end of each run" "$(awk '
		{ n[$2] += $1 == "next_pid" ? $3 : -$3 } END { if (!NR) print "none"; for (tid in n) if (n[tid] < -1 || n[tid] > 1) print tid, n[tid] }' \
		"$work/switches")"
}

of_target "a process" "$(ls "/proc/$server/task" | wc -l)" -p "$server"
of_target "a thread" 1 -t "$server"
check "all: the rings hold all of the time" measured -a -m 64M
empty "all: they ran as long as the kernel says" "$(far ran 30000)"
# Where the kernel does not trace the switch from an idle CPU, the end of the wait is unknown.
empty "all: they ran or waited as long" "$(far both 30000)"
empty "all: they did not wait longer" "$(exceeded 3 30000)"
check "all: the report says how busy CPUs were" grep -q 'busy: CPU' <("$RINGBACK" report "$work/dump" 2>/dev/null)

unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$unified/ringback-$$-$RANDOM
if [ -n "$unified" ] && mkdir "$group" 2>/dev/null; then
	at_end+=("kill $server 2>/dev/null; wait $server 2>/dev/null; rmdir $group")
	echo "$server" >"$group/cgroup.procs"
	of_target "a control group" "$(ls "/proc/$server/task" | wc -l)" --cgroup "${group#"$unified"}"
else
	skip "a control group" "no cgroup v2 here"
fi
kill "$client"
tap_end

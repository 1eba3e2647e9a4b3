#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 600
#
# Compact channels: the scheduler's events in eight bytes each. They are the same as perf's, nothing is
# missing between dumps, also over kill -9, and a ring holds over 100,000 events a MiB.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
only_root "compact records" "BPF programs"

events=sched:sched_switch,sched:sched_wakeup,sched:sched_waking,sched:sched_wakeup_new,sched:sched_migrate_task

# programs_of PID: the numbers of the BPF programs that a process holds
programs_of() {
	grep -h '^prog_id:' /proc/"$1"/fdinfo/* 2>/dev/null | sort -u | cut -f 2
}

name_of() {
	PATH=$PATH:/usr/sbin bpftool -j prog show id "$1" 2>/dev/null | jq -r .name
}

gone() {
	[ "$(name_of "$1")" != ringback_switch ]
}

# ---- the same events as in perf's rings ----

# both NAME LOAD: records the shell text LOAD with two recorders
both() {
	"$RINGBACK" record --config /dev/null --memory 0 -q -a --preset life -o "$work/perf" --name perf \
		--channel "sched:$events;size=16M" >"$work/perf.out" 2>"$work/perf.err" &
	local perf=$!

	wait_for 20 "$RINGBACK" status --name perf >"$work/status"
	rec_start -a --preset life --channel "sched:$events;size=8M;records=compact"
	check "$1: the channel is compact" test "$("$RINGBACK" status --name default --json | jq '.channels[] | select(.name == "sched") | .compact')" = true
	bash -c "$2" >"$work/load" 2>&1
	"$RINGBACK" trigger --name perf >"$work/perf.path" &
	compact=$(dump_now)
	wait $!
	rec_stop
	kill $perf
	wait $perf
	check "$1: perf has no event that is not in the compact dump" \
		eval 'python3 tests/compare/compact_same.py "$RINGBACK" "$compact" "$(cat "$work/perf.path")" >"$work/same" || { cat "$work/same"; false; }'
	tail -n 1 "$work/same" | sed "s/^/# $1: /"
	rm -rf "$work/perf"
}

both storm 'for i in {1..300}; do /bin/true; done; for i in {1..20}; do ls -l /proc/self | sort & done; wait'
both compile "for i in 1 2 3; do gcc -O2 -I. -D_GNU_SOURCE -c -o '$work/o' dump/view/base/text.c; done"
both redis "cd '$work'; redis-server --port 0 --unixsocket '$work/redis' --save '' >/dev/null &
	until [ -S redis ]; do sleep 0.02; done
	redis-benchmark -s '$work/redis' -n 20000 -c 5 -t get,set -q; kill %1; wait"

# ---- nothing is missing ----

# switches_of LINE: how often the thread of load_counted leaves a CPU in all dumps, between its two times
switches_of() {
	local tid from to path

	read -r tid from to _ <<<"$1"
	for path in "${dumps[@]}"; do
		"$RINGBACK" script --json --no-history --event sched:sched_switch "$path"
	done | jq -r "select(.fields.prev_pid == $tid) | .time | tonumber | select(. >= $from and . <= $to)" | sort -u | wc -l
}

# counted NAME: compares the dumps with what the kernel counted
counted() {
	local line

	wait "$load"
	dumps+=("$(dump_now)")
	line=$(cat "$work/switches")
	equal "$1: no switch is missing in ${#dumps[@]} dumps, and none is there twice" "${line##* }" "$(switches_of "$line")"
	echo "# $1: ${line##* } switches of one thread"
}

mine=(-a --channel "sched:sched:sched_switch;size=8M;records=compact")
rec_start "${mine[@]}"
"$loads/load_counted" 6 >"$work/switches" &
load=$!
dumps=()
for i in {1..20}; do
	dumps+=("$(dump_now)")
	sleep 0.2
done
counted "freeze"
rec_stop

"$RINGBACK" keep 2>"$work/keep.err" &
keeper=$!
wait_for 20 grep -q "^ringback: keeping" "$work/keep.err"
rec_start "${mine[@]}"
ids=$(programs_of "$rec_pid")
"$loads/load_counted" 5 >"$work/switches" &
load=$!
dumps=()
for i in {1..4}; do
	sleep 0.3
	kill -KILL "$rec_pid"
	wait "$rec_pid" 2>/dev/null
	equal "the program goes on" "$ids" "$(programs_of "$keeper")"
	rec_start "${mine[@]}"
	grep -q 'are taken over' "$work/err" || not_ok "the rings are taken over" "$(cat "$work/err")"
	dumps+=("$(dump_now)")
done
counted "kill -9"
rec_stop
kill "$keeper"
wait "$keeper"
check "with the keeper it ends" wait_for 20 gone "$ids"
rec_start "${mine[@]}"
ids=$(programs_of "$rec_pid")
equal "bpftool lists the program" ringback_switch "$(name_of "$ids")"
kill -KILL "$rec_pid"
wait "$rec_pid" 2>/dev/null
check "without one it ends with the recorder" wait_for 20 gone "$ids"

# ---- names ----
rec_start "${mine[@]}"
taskset -c 0 python3 -c '
import time
for name in "first-name", "second-name":
    open("/proc/self/comm", "w").write(name)
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        time.sleep(0.005)
' &
renamed=$!
# In the dump after the one that has its start, it has one name only.
sleep 0.5
dump_now >/dev/null
sleep 1
dumps=("$(dump_now)")
sleep 2
dumps+=("$(dump_now)")
# last_name DUMP: with which the thread left its CPU last
last_name() {
	"$RINGBACK" script --json --no-history --event sched:sched_switch "$1" |
		jq -r "select(.fields.prev_pid == $renamed) | .fields.prev_comm" | tail -n 1
}
equal "a dump has a thread's name" first-name "$(last_name "${dumps[0]}")"
equal "the next one its new name" second-name "$(last_name "${dumps[1]}")"
wait $renamed
rec_stop

# ---- history ----
rec_start -a --preset sched --size sched=1M
check "the presets are compact" test "$("$RINGBACK" status --json | jq '.channels[0].compact')" = true
taskset -c 0 "$loads/load_counted" 1 >"$work/switches"
perf bench sched pipe -l 100000 >"$work/load" 2>&1
path=$(dump_now)
most=$(info_json "$path" '[.rings[].samples] | max')
echo "# $most events in a ring of 1 MiB"
check "a MiB holds over 100,000 events" test "$most" -gt 100000
equal "nothing is lost" 0 "$(info_json "$path" '[.rings[].lost] | add')"
check "info says how they are kept" grep -q '8 bytes each in the ring' <("$RINGBACK" info "$path")
rec_stop

# ---- where perf's rings are used instead ----
compact_of() {
	"$RINGBACK" status --json | jq '.channels[0].compact'
}
rec_start -a --channel "sched:sched:sched_switch[prev_pid!=0];records=compact"
equal "a filter needs perf's rings" null "$(compact_of)"
rec_stop
rec_start -a --banks 1 --preset sched
equal "so does a single bank" null "$(compact_of)"
rec_stop
sleep 100 &
sleeper=$!
rec_start -p $sleeper --preset sched
equal "and a process" null "$(compact_of)"
rec_stop
kill $sleeper
check "so does a kernel without BTF, and it is said" unshare --mount --propagation private bash -c '
	mount -t tmpfs none /sys/kernel/btf
	"$RINGBACK" record --config /dev/null -v -a --preset sched -o "$1/dumps" --name nobtf -- "$RINGBACK" status --json --name nobtf >"$1/status" 2>"$1/err"
	jq -e ".channels[0].compact == null" "$1/status" >/dev/null && grep -q "channel sched: records of perf instead" "$1/err" &&
		"$RINGBACK" doctor | grep -q "limited  *compact"' bash "$work"
tap_end

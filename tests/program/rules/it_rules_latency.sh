#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: a CPU goes offline, and another is taken before all others
#
# Rules decided in the kernel, on unmodified programs: a million calls with 20 slow ones are 20
# hits, and the fast ones do not wake the recorder; redis, fsync, a CPU hog; a CPU that goes
# offline; a killed recorder leaves nothing behind.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

calls=$(realpath "$loads/load_calls")

# hits NAME: hits of a rule
hits() {
	"$RINGBACK" status --json | jq --arg n "$1" '.rules[] | select(.name == $n) | .hits'
}

# has_hits NAME N
has_hits() {
	[ "$(hits "$1")" -ge "$2" ]
}

has_paths() {
	[ "$(wc -l <"$work/out")" -ge "$1" ]
}

# saw FILE KEY: value of KEY among the values that the rule saw
saw() {
	"$RINGBACK" info "$1" | sed -n "s/^\(  saw\)\? *$2=//p" | head -n 1
}

# load ARG...: load_calls, which waits for a line, at real-time priority so that other load does not
# slow it down; sets $load, its stdin is descriptor 7
load() {
	rm -f "$work/go"
	mkfifo "$work/go"
	: >"$work/load"
	# Opened for reading too, so that open() does not block.
	exec 7<>"$work/go"
	chrt -f 10 "$calls" "$@" <&7 >"$work/load" &
	bg_pid=$!
	wait_for 20 grep -q '^ready' "$work/load"
	load=$(sed -n 's/^ready //p' "$work/load")
}

go() {
	echo >&7
}

# slow_calls: number of slow calls, as measured by the load itself
slow_calls() {
	sed -n 's/^.* calls, \([0-9]*\) slow$/\1/p' "$work/load"
}

load_ends() {
	go
	wait "$bg_pid"
	exec 7<&-
}

# --- latency: a million calls ---
# Records one process only, so that other processes that start do not wake the recorder through the
# sideband.
load many 1000000 0 0
rec_start -p "$load" -m 64K -e sched:sched_switch -T "latency:$calls:calls_one>100ms;name=slow"
before=$(switches)
go
wait_for 300 grep -q calls, "$work/load"
after=$(switches)
check "the load called a million times" grep -q '^1000000 calls' "$work/load"
slow=$(slow_calls)
[ "$slow" != 0 ] || equal "a million fast calls switch to the recorder not once" 0 $((after - before))
equal "and are no hit, but those that somebody made slow" "$slow" "$(hits slow)"
load_ends
load many 1000000 20 110
go
wait_for 300 grep -q calls, "$work/load"
load_ends
slow=$((slow + $(slow_calls)))
check "20 slow calls in a million are 20 hits" wait_for 10 has_hits slow 20
equal "and no more than were slow" "$slow" "$(hits slow)"
wait_for 10 has_paths 1
path=$(head -n 1 "$work/out")
equal "the dump knows the function" "$calls:calls_one" "$(saw "$path" function)"
equal "and the threshold" 100ms "$(saw "$path" threshold)"
check "and how long it took" test "$(saw "$path" duration | tr -d '[:lower:]' | cut -d. -f1)" -ge 110
equal "and who" load_calls "$(info_json "$path" '.trigger.comm // .trigger.by.comm // empty')"
check "the dump passes check" "$RINGBACK" check "$path"

# --- killed ---
# Its state in the kernel: ids of BPF programs and maps; and the breakpoint in the function.
cat /proc/"$rec_pid"/fdinfo/* 2>/dev/null | sed -n 's/^\(prog_id\|map_id\):\t//p' | sort -u >"$work/ids"
cat >"$work/left.py" <<'END'
import ctypes, struct, sys

# left.py IDS PID FILE OFFSET: number of these programs and maps that still exist, and the first
# byte of the function
libc = ctypes.CDLL(None, use_errno=True)
left = 0
for what in open(sys.argv[1]).read().split():
	for command in (13, 14):  # BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID
		a = ctypes.create_string_buffer(struct.pack("II", int(what), 0), 120)
		fd = libc.syscall(321, command, a, 120)
		left += fd >= 0
		if fd >= 0:
			libc.close(fd)
offset = int(sys.argv[4], 16)
for line in open("/proc/%s/maps" % sys.argv[2]):
	f = line.split()
	start, end = (int(x, 16) for x in f[0].split("-"))
	if len(f) > 5 and f[5] == sys.argv[3] and int(f[2], 16) <= offset < int(f[2], 16) + end - start:
		mem = open("/proc/%s/mem" % sys.argv[2], "rb")
		mem.seek(start + offset - int(f[2], 16))
		print(left, "probe" if mem.read(1) == b"\xcc" else "clean")
		break
END
address=$(nm "$calls" | sed -n 's/^\([0-9a-f]*\) T calls_one$/\1/p')
left() {
	python3 "$work/left.py" "$work/ids" "$load" "$calls" "$address"
}
if [ "$(uname -m)" = x86_64 ]; then
	load hang
	go
	echo "# $(wc -l <"$work/ids") ids; while it records: $(left)"
	check "while it records programs and a breakpoint are there" test "$(left | tr -dc '1-9a-z' | tail -c 5)" = probe
	kill -KILL "$rec_pid"
	wait "$rec_pid" 2>/dev/null
	gone() { [ "$(left)" = "0 clean" ]; }
	check "a recorder that is killed leaves no program, map or breakpoint" wait_for 20 gone
	echo "# after: $(left)"
	load_ends
fi

# --- without BTF ---
# plans RULE: the dry run with the kernel's BTF hidden
plans() {
	# shellcheck disable=SC2016 # evaluated there
	unshare --mount --propagation private bash -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' plans \
		"$RINGBACK" record --config /dev/null --dry-run -p $$ -m 64K -e sched:sched_switch -T "$1"
}
check "latency works without BTF" plans "latency:$calls:calls_one>100ms;while-running"
check "so does syscall" plans 'syscall:fsync>1s'
check "runqueue needs it and says so" grep -q 'no /sys/kernel/btf/vmlinux' <<<"$(plans 'runqueue>1s' 2>&1)"

# --- while-running ---
load hang
rec_start -p "$load" -m 64K -e sched:sched_switch -T "latency:$calls:calls_one>50ms;name=slow;while-running"
go
check "a call that never returns is a hit" wait_for 10 has_hits slow 1
# The call still runs and has been reported: the recorder stops polling.
for _ in 1 2 3 4 5; do
	sleep 0.3
	before=$(switches)
	sleep 1
	after=$(switches)
	[ "$before" != "$after" ] || break
done
equal "and is not looked at again" 0 $((after - before))
load_ends
sleep 0.2
equal "nor told again when it does return" 1 "$(hits slow)"
wait_for 10 has_paths 1
check "the dump says that it had not returned" \
	grep -q 'so far' <<<"$(saw "$(head -n 1 "$work/out")" duration)"
rec_stop

# --- redis: one of its functions, made slow by DEBUG SLEEP ---
redis() {
	redis-cli -s "$work/redis.sock" "$@"
}
in_background redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --dir "$work" \
	--enable-debug-command yes >"$work/redis.log"
redis_pid=$bg_pid
wait_for 20 redis ping >/dev/null
redis config set slowlog-log-slower-than 400000 >/dev/null
rec_start -a -m 64K -e sched:sched_switch -T "latency:$(realpath /usr/bin/redis-server):call>400ms;name=redis" \
	-T 'offcpu:redis-server>50s;name=away'
for ((i = 0; i < 200; i++)); do redis set key$i value >/dev/null; done
redis debug sleep 0.1 >"$work/answer"
equal "redis answers" OK "$(cat "$work/answer")"
# On a busy machine any call may be slow: redis counts slow ones itself.
slow=$(redis slowlog len)
equal "a command that sleeps less than the threshold is no hit" "$slow" "$(hits redis)"
redis debug sleep 0.45 >/dev/null
check "one that sleeps longer is" wait_for 10 has_hits redis $((slow + 1))
wait_for 10 has_paths 1
path=$(head -n 1 "$work/out")
check "the dump names it" grep -q 'redis-server' <<<"$(info_json "$path" '.trigger | tostring')"
check "and has redis' stack" grep -q 'processCommand\|redis-server' <<<"$("$RINGBACK" info "$path" | sed -n 's/^  stack//p')"
equal "redis was never away for that long" 0 "$(hits away)"
rec_stop
kill "$redis_pid"
wait "$redis_pid" 2>/dev/null

# --- syscall, while events of the same tracepoints are recorded ---
load sync 1 20 "$work/file"
rec_start -p "$load" -m 64K -e syscalls:sys_enter_fsync -T 'syscall:fsync>1us;name=any;max=1/1h;cooldown=0' -T 'syscall:fsync>60s;name=slow'
load_ends
# The fsyncs that the recorder makes for a dump do not count; those of other programs on this
# machine do.
check "each of 20 fsyncs takes longer than 1 us" wait_for 10 has_hits any 20
equal "and none longer than a minute" 0 "$(hits slow)"
wait_for 10 has_paths 1
path=$(head -n 1 "$work/out")
equal "the dump knows the file" "$work/file" "$(saw "$path" file)"
rec_stop
load sync 1 20 "$work/file"
rec_start -p "$load" -m 64K -e syscalls:sys_enter_fsync -T 'syscall:fsync>60s'
load_ends
path=$(dump_now --reason counted)
equal "the programs take no event from the recording" 20 "$("$RINGBACK" script --json "$path" | grep -c sys_enter_fsync)"
rec_stop

# --- the recorder's own calls: the fsync of a dump must not trigger the next dump ---
rec_start -p $$ -m 64K -e sched:sched_switch -T 'syscall:fsync>1ns;name=sync;cooldown=0' -T 'runqueue:ringback-dump>1ns;name=wait;cooldown=0'
for _ in 1 2 3; do dump_now >/dev/null; done
sleep 0.5
empty "what the recorder itself does is no hit" \
	"$(for path in $(cat "$work/out"); do "$RINGBACK" info "$path" | grep "^  by .*pid $rec_pid,"; done)"
rec_stop

# --- runqueue: a hog with real-time priority on a CPU that another thread needs ---
rec_start -a -m 64K -e sched:sched_switch -T 'runqueue:starved>100ms;name=starved' -T 'runqueue:nobody>1us;name=nobody'
in_background taskset -c 0 bash -c 'echo -n starved >/proc/$$/comm; while :; do :; done'
starved=$bg_pid
named() { [ "$(cat "/proc/$starved/comm")" = starved ]; }
wait_for 10 named
chrt -f 10 taskset -c 0 "$calls" spin 200 < <(echo) >/dev/null
check "a thread that waits for a CPU is a hit" wait_for 10 has_hits starved 1
wait_for 10 has_paths 1
path=$(head -n 1 "$work/out")
equal "the dump says who waited" starved "$(saw "$path" comm)"
check "and who ran" grep -q '/[0-9]' <<<"$(saw "$path" ran_before)"
equal "a rule for another name has none" 0 "$(hits nobody)"
rec_stop
kill "$starved"
wait "$starved" 2>/dev/null

# --- the CPU of the programs' events goes offline, and another comes online ---
# Events are opened on the first CPU that is online: CPU 1 is the only one that can go offline, so
# they are opened there.
online=/sys/devices/system/cpu/cpu1/online
if [ -w "$online" ]; then
	at_end+=("echo 1 >$online")
	rec_start -a -m 2M -e sched:sched_switch -T "latency:$calls:calls_one>100ms;name=slow;cooldown=0"
	echo 0 >"$online"
	wait_for 10 grep -q 'CPU 1 went offline' "$work/err"
	load each 110
	load_ends
	check "with a CPU less a slow call is a hit" wait_for 10 has_hits slow 1
	echo 1 >"$online"
	wait_for 10 grep -q 'CPU 1 came online' "$work/err"
	load each 110
	taskset -p -c 1 "$load" >/dev/null
	load_ends
	check "and on a CPU that came back" wait_for 10 has_hits slow 2
	equal "nothing was missed" "" "$("$RINGBACK" status --json | jq -r '.rules[] | select(.name == "slow") | .trouble')"
	rec_stop
else
	skip "with a CPU less a slow call is a hit" "CPU 1 can't be switched off here"
fi
tap_end

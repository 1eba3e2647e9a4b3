#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# Every form of an event records everything it promises: load_probe.c does known things a known
# number of times, and the test counts them in the dump.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

page=$(getconf PAGESIZE)
probe=$(realpath "$loads/load_probe")

# take ARG...: records load_probe; sets $path, its dump; $work/json: the dump as JSON; $work/said:
# output of the load. The load burns $burn seconds of CPU time.
burn=0
take() {
	path=
	"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" --dump-on-exit "$@" -- \
		sh -c 'exec "$0" "$2" >"$1"' "$probe" "$work/said" "$burn" >"$work/out" 2>"$work/err" </dev/null
	path=$(grep '\.rbd$' "$work/out")
	if [ ! -s "$path" ]; then
		sed 's/^/# /' "$work/err"
		: >"$work/json"
		return 1
	fi
	"$RINGBACK" script --json "$path" | grep '"comm":"load_probe"' >"$work/json"
}

# count FILTER: samples of the load that match
count() {
	jq -c "select($1)" "$work/json" | wc -l
}

said() { # WORD FIELD
	awk -v w="$1" -v f="$2" '$1 == w { print $f }' "$work/said"
}

# Addresses of one length, without 0x, compare as text.
in_range() { # KEY WORD
	echo "($1 | ltrimstr(\"0x\")) as \$a | (\$a | length) == (\"$(said "$2" 2)\" | length) and
		\$a >= \"$(said "$2" 2)\" and \$a < \"$(said "$2" 3)\""
}

# --- tracepoints ---
take -m 4M -e signal:signal_generate
check "a tracepoint: each of 307 signals" test "$(count '.fields.sig == 10 or .fields.sig == 12')" = 307
take -m 4M -e 'signal:signal_generate[sig==12]'
check "a filter: its 7 and nothing else" test "$(wc -l <"$work/json") $(count '.fields.sig == 12')" = "7 7"
take -m 4M -e 'signal:signal_generate[sig == 10 || sig == 12],sched:sched_process_exit'
check "a filter with blanks beside another event" test \
	"$(count '.event == "signal:signal_generate"') $(count '.event == "sched:sched_process_exit"')" = "307 1"
take -m 4M -e 'signal:*'
check "a glob records all that match: each of 307 signals" test \
	"$(count '.event == "signal:signal_generate" and (.fields.sig == 10 or .fields.sig == 12)')" = 307
check "and opens every event of the system" test \
	"$(info_json "$path" '[.channels[].events[].name] | sort | join(" ")')" = \
	"signal:signal_deliver signal:signal_generate"
take -m 4M -e 'sched:sched_process_*'
check "a glob for a part of the name" test "$(info_json "$path" '[.channels[].events[].name |
	startswith("sched:sched_process_")] | length > 3 and all')" = true

# --- software events ---
take -m 4M -e page-faults/period=1/
check "page-faults/period=1/: each of 200 pages" test "$(count "$(in_range .addr pages)")" = 200
take -m 4M -e page-faults:u
check "page-faults:u: each of 200 pages" test "$(count "$(in_range .addr pages)")" = 200
check "and none of the kernel's" test "$(jq -r .at.ip "$work/json" | grep -c '^0xffff')" = 0
take -m 4M -e page-faults/period=10/
n=$(count "$(in_range .addr pages)")
check "page-faults/period=10/: one of ten ($n)" test "$n" -ge 15 -a "$n" -le 25
take -m 4M -e software/config=2,period=1/u
check "a PMU of sysfs with terms, software/config=2,period=1/u: the same faults" test \
	"$(count '.event == "software/config=2,period=1/u"')" -ge 200
burn=0.3
for event in cpu-clock/freq=99/ task-clock cpu-clock/freq=99/u cpu-clock/period=10000000/; do
	take -m 4M -e "$event"
	n=$(wc -l <"$work/json")
	check "$event: about 30 samples in 0.3 s of CPU time ($n)" test "$n" -ge 15 -a "$n" -le 60
done
burn=0
take -m 4M -e context-switches
n=$(wc -l <"$work/json")
check "context-switches: at least one for each of $(said sleeps 2) sleeps ($n)" test "$n" -ge "$(said sleeps 2)"

# --- probes ---
# The second instruction of a function, as +OFF.
second_instruction() {
	objdump -d --disassemble="$1" "$probe" | awk '$1 ~ /^[0-9a-f]+:$/ { sub(":", "", $1); print $1 }' | head -n 2 |
		{ read -r a; read -r b; echo $((0x$b - 0x$a)); }
}

take -m 4M -e "uprobe:$probe:probe_many"
check "uprobe:PATH:SYMBOL: each of 1000 calls" test "$(wc -l <"$work/json")" = 1000
check "its place is the function in the file" test "$(jq -r .at.dso "$work/json" | sort -u)" = "$probe"
check "its target is in the dump" test "$(info_json "$path" '.channels[0].events[0].target')" = "$probe:probe_many"
off=$(second_instruction probe_few)
take -m 4M -e "uprobe:$probe:probe_few+$off"
check "uprobe:PATH:SYMBOL+OFF (+$off): each of 100 calls" test "$(wc -l <"$work/json")" = 100
take -m 4M -e "uretprobe:$probe:probe_few"
check "uretprobe:PATH:SYMBOL: each of 100 returns" test "$(wc -l <"$work/json")" = 100

# --- several in one ring ---
take --channel "mix:uprobe:$probe:probe_many,uprobe:$probe:probe_few,uretprobe:$probe:probe_few,page-faults,signal:signal_generate[sig==10];size=8M"
check "a mixed channel: each sample belongs to its event" test "$(jq -r '.event | sub(".*/"; "") | sub(".*:"; "")' "$work/json" |
	sort | uniq -c | awk '$2 != "page-faults" { printf "%s=%s ", $2, $1 }')" = "probe_few=200 probe_many=1000 signal_generate=300 "
check "the two on one function are told apart" test \
	"$(count '.event | startswith("uprobe:") and endswith("probe_few")') $(count '.event | startswith("uretprobe:")')" = "100 100"
check "its page faults have their addresses" test "$(count ".event == \"page-faults\" and ($(in_range '(.addr // "")' pages))")" = 200
check "script says them for people too" test "$("$RINGBACK" script --event page-faults "$path" | grep -c 'page-faults: addr 0x')" -ge 200
take --channel "a:signal:signal_generate;size=64K" --channel "b:page-faults;size=5000;stack=fp"
check "two channels have rings of their own sizes" test \
	"$(info_json "$path" '[.channels[] | "\(.name)=\(.ring_bytes)"] | join(" ")')" = "a=65536 b=$(((5000 + page - 1) / page * page))"
check "only the one that wants stacks has them" test \
	"$(jq -r 'select(.chain) | .event' "$work/json" | sort -u)" = page-faults
take -m 5000 -e signal:signal_generate
check "-m is rounded up to a power of two of pages" test "$(info_json "$path" '.channels[0].ring_bytes')" = 8192

# --- stacks ---
entry=$(nm "$probe" | awk '$3 == "probe_few" { sub("^0*", "", $1); print $1 }')
take -m 4M -g -e "uprobe:$probe:probe_few"
check "-g: a chain for each sample" test "$(count '.chain | length > 0')" = 100
check "it begins in the function probed" test \
	"$(jq -r '.chain[0] | "\(.dso)+\(.off)"' "$work/json" | sort -u)" = \
	"$probe+0x$entry"
check "and goes on in its callers, up to the C library" test \
	"$(count "([.chain[] | select(.dso == \"$probe\")] | length >= 2) and any(.chain[]; (.dso // \"\") | test(\"libc\"))")" = 100
burn=0.3
take -m 4M -g=fp -e cpu-clock/freq=199/u
check "-g=fp: all of the burning is in the program's mappings" test \
	"$(count 'any(.chain[]; .dso)')" = "$(count true)"
check "and most of it in the program" test "$(count "any(.chain[]; .dso == \"$probe\")")" -ge 20
burn=0
take -m 8M -g=dwarf:4096 -e "uprobe:$probe:probe_few"
check "-g=dwarf:4096: a copy of 4096 bytes in each of 100 samples" test "$(count '.user_stack.bytes == 4096')" = 100
check "with the stack pointer within the stack" test "$(count "$(in_range .user_stack.sp stack)")" = 100
check "and the program counter at the probe" test "$(count ".user_stack.ip | endswith(\"${entry: -3}\")")" = 100
take -m 8M --channel "d:uprobe:$probe:probe_few;size=8M;stack=dwarf:16K"
check "stack=dwarf:16K: as much of it as there is" test "$(count '.user_stack.bytes > 8192 and .user_stack.bytes <= 16384')" = 100

# --- presets ---
# A load for all of them: processes, signals, faults, a block device if there is one, packets to
# itself.
busy() {
	"$loads/load_probe" 0.1 >"$work/said"
	dd if=/dev/zero of="$work/block" bs=64K count=16 oflag=direct,dsync 2>/dev/null
	for _ in 1 2 3 4 5; do
		(: <"/dev/tcp/127.0.0.1/9") 2>/dev/null
	done
	"$loads/load_switch" 0.1 >/dev/null
}

# A preset has its channels and records the event
preset() { # NAME CHANNELS EVENT
	rec_start -a --preset "$1" || {
		not_ok "--preset $1 records" "$(cat "$work/err")"
		return
	}
	busy
	path=$(dump_now)
	rec_stop
	check "--preset $1 has its channels" test "$(info_json "$path" '[.channels[].name] | join(" ")')" = "$2"
	"$RINGBACK" script --json "$path" >"$work/json"
	if [ "$1" = io ] && ! diskstats_moved; then
		skip "--preset $1 records $3" "no block device took the load's writes"
		return
	fi
	check "--preset $1 records $3" grep -q "\"event\":\"$3" "$work/json"
}

# True when direct writes reach a block device: on tmpfs or a network's file system they do not.
diskstats_moved() {
	local before

	before=$(awk '{ n += $8 } END { print n }' /proc/diskstats)
	dd if=/dev/zero of="$work/block" bs=64K count=16 oflag=direct,dsync 2>/dev/null
	[ "$(awk '{ n += $8 } END { print n }' /proc/diskstats)" != "$before" ]
}

preset default "cpu sched life" cpu-clock
check "and sched_switch" grep -q '"event":"sched:sched_switch' "$work/json"
check "and sched_process_exit" grep -q '"event":"sched:sched_process_exit' "$work/json"
preset cpu cpu cpu-clock
preset sched sched sched:sched_wakeup
preset life life signal:signal_generate
preset syscalls syscalls raw_syscalls:sys_exit
preset io io block:block_rq_complete
preset irq irq irq:softirq_entry
preset mem "faults reclaim" page-faults
preset net "net tcp" net:net_dev_start_xmit
check "and the states of its sockets" grep -q '"event":"sock:inet_sock_set_state' "$work/json"
rec_start -a --preset irq -e sched:sched_switch --channel n:signal:signal_generate
path=$(dump_now)
rec_stop
check "a preset, -e and a channel add up" test "$(info_json "$path" '[.channels[].name] | sort | join(" ")')" = "events irq n"

# --- hardware ---
if [ -e /sys/bus/event_source/devices/cpu ] || [ -e /sys/bus/event_source/devices/cpu_core ]; then
	burn=0.3
	take -m 4M -e cycles
	check "cycles records" test "$(wc -l <"$work/json")" -ge 15
else
	"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -e cycles -- true >"$work/out" 2>"$work/err" </dev/null
	check "cycles, where there is no PMU, fails" test $? = 1
	check "and says so, and what to use" bash -c "grep -q \"can't open cycles: .* does not have it\" $work/err && grep -q 'hint: .*cpu-clock' $work/err"
fi
tap_end

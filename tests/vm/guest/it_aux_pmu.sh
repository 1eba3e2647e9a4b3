#!/bin/bash
# SPDX-License-Identifier: MIT
#
# In the guest: the test module's PMUs behave as real ones do. Does not run ringback; the tests of
# ringback rely on this.
. tests/helpers/tap.sh
. tests/vm/guest/module.sh

client=$RINGBACK_BUILD/tests/tool_aux
devices=/sys/bus/event_source/devices

# field NAME LINE
field() {
	sed -n "s/.*\b$1=\([0-9a-fx]*\).*/\1/p" <<<"$2"
}

check "the kernel is one of Debian's" grep -q -- '-cloud-amd64$' /proc/sys/kernel/osrelease
equal "there are 4 CPUs" 4 "$(nproc)"
empty "kprobes, uprobes, system call tracepoints, BPF and PSI are there" "$(
	for i in /proc/pressure/cpu $devices/kprobe $devices/uprobe /proc/sys/kernel/bpf_stats_enabled; do
		[ -e "$i" ] || echo "no $i"
	done)"

for pmu in rb_aux_count rb_aux_mod; do
	# 16 pages; far fewer bytes than that, as many, the rest of a tick more, many times as many.
	# No times are checked: a tick may come late.
	set_to rate 1000
	set_to limit 5003
	out=$("$client" $pmu 1 16 1 12 2>&1)
	check "$pmu: never full" test "$?:$(field written "$out"):$(field wraps "$out")" = 0:5003:0
	set_to rate 8192
	set_to limit 65536
	out=$("$client" $pmu 1 16 1 12 2>&1)
	check "$pmu: exactly full" test "$?:$(field written "$out"):$(field wraps "$out")" = 0:65536:1
	set_to limit 65541
	out=$("$client" $pmu 1 16 1 12 2>&1)
	check "$pmu: five bytes over" test "$?:$(field written "$out"):$(field wraps "$out")" = 0:65541:1
	set_to limit 0
	set_to rate 65528
	check "$pmu: wrapped many times, stopped and started 20 times" \
		eval "out=\$($client $pmu 2 16 20 10 2>&1) || { echo \"\$out\"; false; }"
	out=$("$client" $pmu 2 16 1 100 2>&1)
	echo "# $pmu: $out"
	check "$pmu: a hundred ticks wrap often" test "$(field wraps "$out")" -ge 95
	set_to rate 8192
	check "$pmu: goes with a thread" "$client" $pmu -1 64 3 30
	for flag in 0x1 0x4 0x8; do
		set_to flags $((flag))
		out=$("$client" $pmu 0 16 1 10 2>&1)
		equal "$pmu: flag $flag on demand" $((flag | 2)) $(($(field flags "$out")))
	done
	set_to flags 0
done

check "intel_pt describes the fields of its configuration" \
	eval "[ \$(ls $devices/intel_pt/format | wc -l) = 14 ] && grep -qx config:10 $devices/intel_pt/format/tsc"
check "intel_pt has its caps and ratios" \
	test "$(cat $devices/intel_pt/caps/mtc_periods $devices/intel_pt/tsc_art_ratio | tr '\n' ' ')" = "249 240:2 "

# An interrupt ends the output and begins it again; the position in the sequence stays.
set_to rate 8192
set_to restart 3
check "an end and a new begin every 3 ticks lose nothing" "$client" rb_aux_mod 1 16 3 50
set_to restart 0

# The PMU plays back the bytes given for a CPU once: fewer than the buffer holds, and more.
for bytes in 10001 300007; do
	"$client" sequence 1 $bytes >/sys/kernel/debug/ringback/pt/cpu1
	set_to rate 65536
	out=$("$client" intel_pt 1 16 2 10 2>&1)
	check "intel_pt plays back $bytes bytes" test "$?:$(field written "$(tail -n 1 <<<"$out")")" = 0:$bytes
done
out=$("$client" intel_pt 2 16 1 10 2>&1)
check "and nothing on a CPU that was given nothing" test "$?:$(field written "$out")" = 0:0

# A CPU goes offline while its PMU writes: the bytes published by then stay.
set_to rate 8192
before=$(ticks 3)
check "CPU 3 goes off while a PMU writes there" eval "$client rb_aux_count 3 16 200 10 >/dev/null &
	while [ '$before' = \"\$(ticks 3)\" ] && kill -0 \$!; do :; done
	echo 0 >/sys/devices/system/cpu/cpu3/online && wait \$!"
equal "it is off" 0-2 "$(cat /sys/devices/system/cpu/online)"
echo 1 >/sys/devices/system/cpu/cpu3/online
equal "and on again" 0-3 "$(cat /sys/devices/system/cpu/online)"
check "what is opened then works on it" "$client" rb_aux_mod 3 16 3 20
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of recorder.sh
#
# In the guest: Intel PT from the running program to the steps printed. Real programs are run
# instruction by instruction, each on a CPU of its own; the module's intel_pt plays back the trace
# that Intel PT would have written of them while ringback records. The dump, decoded, must match
# what the programs did. One trace is whole, one lost its start, one ends within a packet.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/vm/guest/module.sh

play=/sys/kernel/debug/ringback/pt
area_bytes=4096
cut=2001
at_end+=("echo 8192 >$parameters/rate; echo 0 >$parameters/limit")
export LD_BIND_NOW=1

# step CPU NR PROGRAM..: runs the program there for at most NR instructions; then its trace is
# played back there, to its end
step() {
	local cpu=$1 nr=$2

	shift 2
	check "$1 is stepped on CPU $cpu, and was not disturbed" \
		eval "$loads/tool_pt step -e -by -p 400 -n $nr -c $cpu -o $work/trace$cpu -l $work/log$cpu -k $work/code$cpu -- $* >/dev/null"
	cat "$work/trace$cpu" >$play/cpu"$cpu"
	ticked 20 "$cpu" intel_pt
}

# aux_bytes CPU: bytes of its area in the newest dump
aux_bytes() {
	"$RINGBACK" export -f aux --cpu "$1" "$path" | wc -c
}

# all_there: makes a dump that has all traces
all_there() {
	path=$(dump_now) && [ "$(aux_bytes 1)" = "$(stat -c %s "$work/trace1")" ] &&
		[ "$(aux_bytes 2)" = $area_bytes ] && [ "$(aux_bytes 3)" = $cut ]
}

# decoded CPU SKIPPED: the dump holds a piece of the trace, and it decodes to what the program did
decoded() {
	"$RINGBACK" export -f aux --cpu "$1" -o "$work/aux$1" "$path" &&
		tail -c +$(($2 + 1)) "$work/trace$1" | head -c "$(stat -c %s "$work/aux$1")" | cmp - "$work/aux$1" &&
		"$loads/tool_ptflow" "$work/aux$1" "$work/log$1" "$work/code$1" 1 "$2"
}

# shown CPU PROGRAM: compares the steps that script prints for that CPU with the log
shown() {
	"$RINGBACK" script --event call,return,out,back,lost "$path" |
		awk -v p="$2" -v c="[00$1]" '$1 == p && $3 == c { sub(":", "", $5); print $5 }' >"$work/shown"
	sed -E '/^(call|return|off|on) /!d; s/ .*//; s/^off$/out/; s/^on$/back/' "$work/log$1" >"$work/logged"
	wc -l <"$work/shown"
}

for file in $play/cpu*; do # what others left there
	: >"$file"
done
rec_start -a --symbols 300s --channel "pt:intel_pt//u;size=$area_bytes"
step 1 20000 basename /usr/lib/libc.so .so
step 2 20000 sort tests/vm/run.sh
set_to limit $cut
step 3 9000 jq -n 1+2
overwritten=$(($(stat -c %s "$work/trace2") - area_bytes))
check "the traces are as long as they have to be" \
	test "$(stat -c %s "$work/trace1")" -lt $area_bytes -a $overwritten -gt 0 -a "$(stat -c %s "$work/trace3")" -gt $cut
check "all of it gets into a dump" wait_for 150 all_there
path=$(tail -n 1 "$work/out")
check "a whole trace: each call and return, in order" decoded 1 0
check "an overwritten start: the same from the next PSB on" decoded 2 $overwritten
check "an end within a packet: the same up to it" decoded 3 0
n=$(shown 1 basename)
check "script shows each step of the whole one, in order" eval "[ $n -gt 100 ] && cmp $work/logged $work/shown"
check "functions have names" eval '"$RINGBACK" script --event call "$path" | grep -q "basename .*__libc_start_main"'
n=$(shown 2 sort)
check "and the end of the overwritten one" eval "[ $n -gt 100 ] && tail -n $n $work/logged | cmp - $work/shown"
n=$(shown 3 jq)
check "and the start of the one that was cut" eval "[ $n -gt 100 ] && head -n $n $work/logged | cmp - $work/shown"
rec_stop

# ---- perf, which shares no code with ringback ----

check "exported for perf" "$RINGBACK" export -f perf -o "$work/data" "$path"
perf script -i "$work/data" --itrace=bcre -F tid,time,ip,addr,flags,event --ns >"$work/perf" 2>"$work/perf.err" ||
	cat "$work/perf.err"
check "perf decodes the same of all three" \
	python3 tests/compare/pt_same.py "$work/perf" "$work/log1" "end:$work/log2" "part:$work/log3"
check "the recorder ends with 0" test "$rec_status" = 0
tap_end

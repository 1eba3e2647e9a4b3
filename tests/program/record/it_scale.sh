#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: it floods what every recorder hears of processes
#
# A large host: 10,000 processes and 1,000 forks a second. The recorder gets ready, knows every name
# and loses no record about processes. Then neighbours with 100,000 mappings and with very many
# threads: they cost bounded memory, and the recorder names the one that fills its history.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
only_root "a large host is recorded" "needs root"

# load NAME COUNT: starts it; its input is a FIFO
declare -A load_pid
load() {
	mkfifo "$work/$1.in"
	"$loads/load_scale" "$1" "$2" <>"$work/$1.in" >"$work/$1.out" 2>&1 &
	load_pid[$1]=$!
	check "load_scale $1 $2 is ready" wait_for 100 grep -q ready "$work/$1.out"
}

load_end() {
	kill "${load_pid[$1]}"
	wait "${load_pid[$1]}" 2>/dev/null
	rm "$work/$1.in"
}

# own_memory: MiB resident besides the rings, which are mapped into the recorder
own_memory() {
	awk '/^Rss(Anon|File):/ { kb += $2 } END { print int(kb / 1024) }' "/proc/$rec_pid/status"
}

status_of() {
	"$RINGBACK" status --json | jq -r "$1"
}

field() {
	sed -n "s/.*\b$1=\(-\?[0-9]*\).*/\1/p" <<<"$2"
}

load live 10000
load forks 1000
rec_start -a -m 8M -e 'raw_syscalls:sys_enter[id==121]'
ready=$(cpu_ticks "$rec_pid")
echo "# ready after $ready ticks of CPU time"
check "the recorder is ready after at most 2 s of CPU time" test "$ready" -le $((2 * $(getconf CLK_TCK)))
sleep 3
echo >"$work/live.in"
check "all 10,000 run once" wait_for 100 grep -q "done" "$work/live.out"
path=$(dump_now)
echo >"$work/forks.in"
wait_for 100 eval '[ "$(wc -l <"$work/forks.out")" = 2 ]'
echo "# $(tail -n 1 "$work/forks.out") forks"
result=$("$loads/tool_comm" "$path")
echo "# $result"
check "the dump has them and the processes that were forked" test "$(field samples "$result")" -gt 10500
equal "each under its right name" 0 "$(field wrong "$result")"
check "no record about processes is lost, or /proc was read again" test "$(status_of '.sideband.lost == 0 or .sideband.scans > 1')" = true
equal "nobody is forgotten" 0 "$(status_of .ledger.evicted)"
check "that takes at most 64 MiB besides the rings ($(own_memory))" test "$(own_memory)" -le 64
load_end live
rec_stop

# A neighbour's mappings and threads, with little room for them.
rec_start -a -m 1M -e 'raw_syscalls:sys_enter[id==121]' --ledger-size 8M
"$RINGBACK" status >/dev/null
before=$(cpu_ticks "$rec_pid")
load maps 100000
told() { grep -q 'history of processes is full (--ledger-size 8 MiB)' "$work/err"; }
check "the recorder says that its history is full" wait_for 60 told
used=$(($(cpu_ticks "$rec_pid") - before))
echo "# that takes $used ticks of CPU time"
check "that takes less than 3 s of its CPU time" test $used -le $((3 * $(getconf CLK_TCK)))
sed 's/^/# /' "$work/err"
check "and names the neighbour, with its mappings" grep -Eq 'full .*; p[0-9]+ \([0-9]+\) takes most: [0-9]{4,} mappings, 1 thread$' "$work/err"
check "status names it, too" test "$(status_of '.ledger.largest | (.comm == "p\(.pid)" and .maps > 1000)')" = true
check "also for people" grep -Eq '^ *p[0-9]+ \([0-9]+\) has most: [0-9,]+ mappings' <("$RINGBACK" status)
check "a process that starts now has a name" "$loads/load_short" 20
equal "in the next dump, too" 0 "$(field wrong "$("$loads/tool_comm" "$(dump_now)")")"
load_end maps
load threads 12000
echo >"$work/threads.in"
wait_for 100 grep -q "done" "$work/threads.out"
check "the history stays within its bound" test "$(status_of '.ledger.bytes <= .ledger.max_bytes')" = true
check "and the recorder within 64 MiB besides the rings ($(own_memory))" test "$(own_memory)" -le 64
equal "it is told once" 1 "$(grep -c 'history of processes is full' "$work/err")"
load_end threads
rec_stop
equal "the recorder ends with 0" 0 "$rec_status"
tap_end

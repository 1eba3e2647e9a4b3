#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: its threads must be the busiest of the machine
#
# `ringback report` for threads with known behaviour: which thread ran, which waited for a CPU and
# what ran there, which slept on a lock and who held it, which died. The report fits the terminal
# and has no control characters.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# section TITLE: a section of the report, without its title line
section() {
	awk -v title="$1" '/^[A-Z]/ { on = index($0, title) == 1; next } on && NF { print }' "$work/report"
}

# too_wide COLUMNS: lines of the report with more columns
too_wide() {
	LC_ALL=C.UTF-8 awk -v n="$1" 'length($0) > n' "$work/report"
}

in_background "$loads/load_roles" 900 crash >"$work/load"
load=$bg_pid
wait_for 20 grep -q ready "$work/load"
rec_start -a -m 8M
sleep 2.5
path=$(dump_now --reason "roles are played")
rec_stop

COLUMNS=100 "$RINGBACK" report "$path" >"$work/report" 2>"$work/err"
equal "a report is made" 0 $?
for i in 1 2 3 4; do COLUMNS=100 "$RINGBACK" report "$path" 2>/dev/null | cmp - "$work/report"; done >"$work/other" 2>&1
empty "and the same again, whatever the addresses of this run" "$(cat "$work/other")"
check "it says nothing on stderr" test ! -s "$work/err"
check "the trigger comes first, with its reason" \
	eval 'head -n 2 "$work/report" | grep -q "^trigger  manual \"roles are played\""'
check "what was lost is said" grep -q '^losses   none in the window' "$work/report"
check "the thread that burns CPU is among the first" eval 'section "WHAT RAN" | sed -n 3,10p | grep -q "burner"'
check "whoever burns CPU runs in the function that does" \
	eval 'section "WHAT RAN" | grep -E "^  burner .* (burn_cycles|load_roles\+0x[0-9a-f]+) ([5-9][0-9]|100)%$"'
check "who waits for a CPU is told, and running instead" \
	eval 'section "RUN QUEUE LATENCY" | grep -E "^  rival .*burner [0-9]+%"'
check "who sleeps on a lock is told, and who held it" \
	eval 'section "SLEPT UNTIL" | grep -E "^  waiter .* holder (9[0-9]|100)%$"'
check "who died, and of what" eval 'section "DIED" | grep -E "victim \([0-9]+\) got SIGSEGV and died of it"'
check "what was not recorded, and what records it" eval \
	'tr "\n" " " <"$work/report" | grep -qE "not recorded: system calls \(--preset syscalls\), .*disks \(--preset io\)"'
check "piped, it has no colours" eval '! grep -q "$(printf "\033")" "$work/report"'
check "no line ends in spaces" eval '! grep -qE " $" "$work/report"'

for columns in 80 100 140 200; do
	COLUMNS=$columns "$RINGBACK" report "$path" >"$work/report"
	empty "it fits $columns columns" "$(too_wide "$columns")"
done

COLUMNS=100 "$RINGBACK" report --focus 300ms "$path" >"$work/report"
check "a focus narrows it" grep -qE '^WHAT RAN .* last 300 ms$' "$work/report"
"$RINGBACK" report --comm waiter "$path" >"$work/report"
check "only one thread, when asked" eval 'section "SLEPT UNTIL" | grep -q "^  waiter"'
check "and no other one" eval '! grep -qE "^  (burner|rival|holder) " "$work/report"'
"$RINGBACK" report --comm victim "$path" >"$work/report"
check "what ended" eval 'section "PROCESSES" | grep -E "ended [0-9]: victim [0-9]"'
"$RINGBACK" report --comm nobody "$path" >"$work/report" 2>"$work/err"
equal "a thread that isn't there is an error" 1 $?
"$RINGBACK" report --focus 0 "$path" >"$work/report" 2>"$work/err"
equal "so is a focus of nothing" 2 $?
"$RINGBACK" report --from 200ms "$path" >"$work/report" 2>"$work/err"
equal "and a time after the end" 2 $?
check "which says how times are written" grep -q -- '--from -200ms' "$work/err"
script -qec "COLUMNS=80 $RINGBACK report $path" /dev/null </dev/null >"$work/report" 2>&1
check "on a terminal it has colours" grep -q "$(printf '\033\[1m')" "$work/report"
NO_COLOR=1 script -qec "COLUMNS=80 $RINGBACK report $path" /dev/null </dev/null >"$work/report" 2>&1
check "unless they are not wanted" eval '! grep -q "$(printf "\033\[1m")" "$work/report"'

# ---- sleeping places, system calls, interrupts ----
rec_start -a --preset waits --channel 'calls:raw_syscalls:sys_enter,raw_syscalls:sys_exit;size=8M' \
	--channel 'irq:irq:softirq_entry,irq:softirq_exit;size=1M'
sleep 1.5
path=$(dump_now)
rec_stop
kill "$load"
COLUMNS=100 "$RINGBACK" report "$path" >"$work/report"
check "with stacks, where it sleeps" eval 'section "SLEPT UNTIL" | grep -A 2 "^  waiter" |
	grep -qE "futex_wait|0xffffffff"'
check "the calls that took most time" eval 'section "SYSTEM CALLS" | grep -qE "^  futex .*[0-9] (ms|s)"'
check "the timer's softirq" eval 'section "INTERRUPTS" | grep -qE "^  softirq (TIMER|SCHED|RCU|HRTIMER)"'
COLUMNS=100 taskset -c 0 "$RINGBACK" report "$path" 2>/dev/null | cmp - "$work/report" >"$work/other" 2>&1
empty "with one CPU, in one pass, it is the same" "$(cat "$work/other")"
cp "$path" "$work/cut.rbd"
truncate -s -5000 "$work/cut.rbd"
"$RINGBACK" report "$work/cut.rbd" >"$work/report" 2>"$work/err"
equal "of a damaged dump it says so" 3 $?
check "and reports what is whole" grep -q '^WHAT RAN' "$work/report"
tap_end

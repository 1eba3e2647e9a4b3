#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `ringback diff` finds a new load by program, function and wait, and finds nothing between two
# dumps of the same load.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# section TITLE [FILE]: a section of diff's output, without its title line
section() {
	awk -v title="$1" '/^[A-Za-z]/ { on = index($0, title) == 1; next } on && NF { print }' "${2-$work/diff}"
}

rec_start -a
sleep 1.5
before=$(dump_now --reason before)
rec_stop
in_background "$loads/load_roles" 900 >"$work/load"
load=$bg_pid
wait_for 20 grep -q ready "$work/load"
rec_start -a
sleep 2.5
after=$(dump_now --reason after)
sleep 2.5
again=$(dump_now --reason again)
rec_stop
kill "$load"

COLUMNS=120 "$RINGBACK" diff "$before" "$after" >"$work/diff" 2>"$work/err"
equal "two dumps are compared" 0 $?
sed 's/^/# /' "$work/diff" # for whoever has to find out why not
check "nothing is said on stderr" test ! -s "$work/err"
check "which is which" eval 'head -n 2 "$work/diff" | tr "\n" " " | grep -q "^baseline .*before dump .*after"'
check "CPU time of the program that came" eval 'section "GREW: CPU TIME OF PROGRAMS" | grep -qE "^  burner +0.0% +[0-9.]+% +\+"'
# Of the load alone: other tests run meanwhile.
COLUMNS=120 "$RINGBACK" diff --comm burner "$before" "$after" >"$work/burner"
check "and of the function that it is in" \
	eval 'section "GREW: CPU TIME OF FUNCTIONS" "$work/burner" | grep -qE "^  burner, (burn_cycles|load_roles\+0x[0-9a-f]+) "'
check "waiting for a CPU" eval 'section "GREW: RUN QUEUE LATENCY" | grep -q "^  rival "'
check "sleeping on a lock" eval 'section "GREW: SLEPT UNTIL" | grep -q "^  waiter "'
check "what does not belong together is not there" eval '! section "GREW: SLEPT UNTIL" | grep -q "^  burner "'

"$RINGBACK" diff --comm holder,waiter "$after" "$again" >"$work/diff"
check "two dumps of the same load: nothing" eval 'grep "^no significant increase" "$work/diff" || ! cat "$work/diff"'
"$RINGBACK" diff "$after" "$after" >"$work/diff"
check "a dump and itself: nothing" grep -q "^no significant increase" "$work/diff"
"$RINGBACK" diff --comm 'wait*' "$before" "$after" >"$work/diff"
check "only some threads, when asked" eval 'grep -q "^  waiter" "$work/diff" && ! grep -q "^  burner" "$work/diff"'
"$RINGBACK" diff "$before" 2>"$work/err"
equal "one dump is not enough" 2 $?
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 1200
#
# kill -9 at 200 random moments of dumping: a file that passes `check` is always whole, and
# leftovers never prevent the next recorder's start.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

RANDOM=20261121
started_badly=0 false_whole=0 whole=0 parts=0 not_whole=0
# Longest delay before the kill, in 100 us: from the trigger on, and from the file's appearance. It
# grows when the dump had not finished and shrinks when it had, so that both cases occur at any
# speed of the machine.
most=(600 30)

# Readable: every record, to the last.
readable() {
	"$RINGBACK" script --json "$1" >"$work/script" 2>"$work/script.err" &&
		[ "$(wc -l <"$work/script")" -ge "$(info_json "$1" '[.rings[].samples] | add')" ]
}

# Starts no process, which would take too long.
wait_for_file() {
	local n files=()

	for ((n = 0; n < 100000 && ${#files[@]} == 0; n++)); do
		files=("$work"/dumps/*)
	done
}

# nap N: sleeps N times 100 us, without a process
mkfifo "$work/never"
exec 9<>"$work/never"
nap() {
	read -rt "$(printf '0.%04d' "$1")" -u 9
}

# The load fills the rings and slows the dump down; it is stopped otherwise.
in_background "$loads/load_switch" 1500 >"$work/load"
load=$bg_pid
wait_for 20 grep -q ready "$work/load"
kill -STOP "$load"
shopt -s nullglob
for ((i = 0; i < 200; i++)); do
	if ! rec_start -C "$pair" -m 256K -e sched:sched_switch,sched:sched_wakeup; then
		started_badly=$((started_badly + 1))
		rec_stop
		continue
	fi
	kill -CONT "$load"
	# Long enough to fill the rings.
	sleep 0.03
	kill -USR2 "$rec_pid"
	# A dump takes some 5 to 30 ms, and longer under load: every second run is without load. In
	# half of the runs the delay counts from the file's appearance, shortly before it is
	# complete.
	[ $((i % 2)) = 0 ] || kill -STOP "$load"
	way=$((i / 2 % 2))
	[ $way = 0 ] || wait_for_file
	nap $((RANDOM % most[way]))
	kill -KILL "$rec_pid"
	kill -STOP "$load"
	wait "$rec_pid" 2>/dev/null
	rec_pid=
	finished=("$work"/dumps/*.rbd)
	if [ ${#finished[@]} = 0 ]; then
		most[way]=$((most[way] < 8000 ? most[way] * 5 / 4 : 9999))
	else
		most[way]=$((most[way] > 20 ? most[way] * 4 / 5 : 16))
	fi
	for f in "$work"/dumps/*; do
		[ "${f%.part}" = "$f" ] || parts=$((parts + 1))
		if "$RINGBACK" check "$f" >/dev/null 2>&1; then
			whole=$((whole + 1))
			readable "$f" || false_whole=$((false_whole + 1))
		elif [ "${f%.part}" = "$f" ]; then
			not_whole=$((not_whole + 1))
			"$RINGBACK" check "$f" 2>&1 | head -n 5 | sed 's/^/# /'
		fi
		rm -f "$f"
	done
done
echo "# of 200 killed dumps $whole were whole, $parts were left as .part"
check "every recorder started after the one before was killed" test "$started_badly" = 0
check "some were killed while they wrote" test "$parts" -gt 10
check "some had finished" test "$whole" -gt 10
check "a file with a dump's name is always whole" test "$not_whole" = 0
check "what passes check can be read to its last record" test "$false_whole" = 0
tap_end

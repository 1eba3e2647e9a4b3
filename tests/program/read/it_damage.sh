#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 600
#
# Dumps of a busy machine, cut at every border of two blocks and at 1,000 random places, and with
# 10,000 bits flipped one at a time: no crash, no hang, every damage is noticed, and undamaged
# blocks are rescued. tool_damage.c does that in one process. A third of them run with the
# sanitizers, which see errors that don't crash and take four times as long. Some are repeated with
# the program itself.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

tool=$loads/tool_damage
sanitized=$(dirname "${RINGBACK_SAN:-$RINGBACK_BUILD/san/ringback}")/tests/tool_damage
if [ ! -x "$sanitized" ]; then
	sanitized=$tool
	echo "# without sanitizers: they were not built"
fi

# busy SIZE SYSCALLS-SIZE TARGET...: a dump of the default preset and syscalls, $path; with small
# rings, because it will be read 11,000 times
busy() {
	rec_start \
		--channel "cpu:cpu-clock/freq=99/;size=$1;stack=fp" \
		--channel "sched:sched:sched_switch,sched:sched_wakeup,sched:sched_waking,sched:sched_migrate_task;size=$1" \
		--channel "life:sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,signal:*;size=$1" \
		--channel "syscalls:raw_syscalls:sys_enter,raw_syscalls:sys_exit;size=$2" "${@:3}"
	in_background "$loads/load_switch" 0.5 >"$work/load"
	"$loads/load_short" 20 >/dev/null
	path=$(dump_now)
	rec_stop
	wait "$bg_pid"
}

# Rings of all CPUs with a block each; rings of one CPU, one of them with several blocks.
busy 32K 64K -a
whole=$path
busy 64K 512K -C 0
long=$path
check "there are whole dumps of a busy moment" "$RINGBACK" check "$whole"
check "and one with a ring of several blocks" test "$(info_json "$long" '[.rings[].bytes] | max')" -gt 300000
size=$(stat -c %s "$whole")
for path in "$whole" "$long"; do
	echo "# $("$RINGBACK" check "$path"), $(stat -c %s "$path") bytes"
done

# variants NAME TOOL DUMP SEED NR_CUTS NR_FLIPS: runs in the background; verdict NAME PID WHAT
# checks the result
variants() {
	"$2" "$3" "$work/$1.note" "$4" "$5" "$6" >"$work/$1.out" 2>"$work/$1.err" &
	bg_pid=$!
}

# both TOOL SEED NR_CUTS NR_FLIPS WHAT: both dumps at the same time; a third of the variants for the
# second, which takes longer
both() {
	local first

	variants first "$1" "$whole" "$2" $(($3 * 2)) $(($4 * 2))
	first=$bg_pid
	variants second "$1" "$long" $(($2 + 1)) "$3" "$4"
	verdict first "$first" "cut at every border of blocks and $(($3 * 2)) places, $(($4 * 2)) bits flipped, $5: as it should be"
	verdict second "$bg_pid" "and $3 and $4 of the other dump"
	nr_cuts=$((nr_cuts + $(count first cuts) - $(count first blocks) + $(count second cuts) - $(count second blocks) - 2))
	nr_flips=$((nr_flips + $(count first flips) + $(count second flips)))
}

# count NAME FIELD
count() {
	sed -n "s/^.*\b$2=\([0-9]*\).*/\1/p" "$work/$1.out" | tail -n 1
}

verdict() {
	wait "$2"
	rc=$?
	tail -n 1 "$work/$1.out" | sed "s/^/# $1: /"
	if [ $rc = 0 ] && grep -q 'wrong=0$' "$work/$1.out"; then
		ok "$3"
	else
		not_ok "$3" "exit code $rc, $(tr -d '\0' <"$work/$1.note"): $(head -n 10 "$work/$1.out"; head -n 25 "$work/$1.err")"
	fi
}

nr_cuts=0 nr_flips=0
both "$sanitized" 20261121 110 1100 "with the sanitizers"
both "$tool" 11210262 224 2234 "without"
check "these were 1,000 cuts beside those at borders, and 10,000 bits" test $nr_cuts -ge 1000 -a $nr_flips -ge 10000

# The same with the program. info does not read records, so it does not notice damage in them; script does not read the
# states of threads at the freeze, which info does.
RANDOM=4711
records=$("$RINGBACK" script "$whole" | wc -l)
bad='' whole_again=0 rescued_none=0
for ((i = 0; i < 24; i++)); do
	at=$(((RANDOM * 32768 + RANDOM) % size))
	rm -f "$work"/damaged.rbd "$work"/rescued.rbd
	if [ $((i % 2)) = 0 ]; then
		what="cut at $at"
		head -c $at "$whole" >"$work/damaged.rbd"
	else
		what="byte $at inverted"
		cp "$whole" "$work/damaged.rbd"
		python3 -c 'import sys
f = open(sys.argv[1], "r+b"); at = int(sys.argv[2])
f.seek(at); b = f.read(1)[0]; f.seek(at); f.write(bytes([b ^ 255]))' "$work/damaged.rbd" "$at"
	fi
	for command in info "info --json" script "script --json" check; do
		# shellcheck disable=SC2086
		timeout 100 "$RINGBACK" $command "$work/damaged.rbd" >"$work/o" 2>"$work/e"
		code=$?
		[ "$command" != info ] || info=$code
		case "$command $code $info" in
		script*' 0 3') [ $((i % 2)) = 1 ] || bad="$bad $command takes a cut file, $what, for a whole one;" && continue ;;
		info*' 0 0') [ $((i % 2)) = 1 ] || bad="$bad $command takes a cut file, $what, for a whole one;" && continue ;;
		script*' 3 '?) [ "$(wc -l <"$work/o")" -le "$records" ] || bad="$bad $command prints too much after $what;" ;;
		*' 3 '?) ;;
		*) bad="$bad $command exits with $code after $what: $(tail -n 1 "$work/e");" ;;
		esac
		grep -q '^ringback: ' "$work/e" || bad="$bad $command says nothing after $what;"
	done
	timeout 100 "$RINGBACK" check "$work/damaged.rbd" --salvage "$work/rescued.rbd" >"$work/o" 2>"$work/e"
	if [ ! -e "$work/rescued.rbd" ]; then
		rescued_none=$((rescued_none + 1))
		continue
	fi
	"$RINGBACK" check "$work/rescued.rbd" >/dev/null || bad="$bad what was rescued after $what is not whole;"
	# Records that lost their window or channel can't be decoded: script says so, and prints the
	# rest.
	"$RINGBACK" script "$work/rescued.rbd" >"$work/o" 2>"$work/e"
	code=$?
	if [ $code = 0 ] || { [ $code = 3 ] && grep -q '^ringback: .*bad block' "$work/e"; }; then
		whole_again=$((whole_again + 1))
	else
		bad="$bad script of what was rescued after $what exits with $code: $(tail -n 1 "$work/e");"
	fi
done
empty "24 of these with the program: told, exit code 3" "$bad"
check "what it rescues is whole again ($whole_again; nothing to rescue: $rescued_none)" test $((whole_again + rescued_none)) = 24 -a $whole_again -gt 12
tap_end

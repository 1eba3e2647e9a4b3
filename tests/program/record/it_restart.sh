#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 900
#
# A keeper (ringback keep) holds the rings while the recorder is away: kill -9 at random moments,
# also while a dump is written, loses no number of a counting thread; names of processes that are
# gone are known; what can't be taken over starts anew, and the recorder says so.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
only_root "a keeper holds the rings" "needs root"

: "${RESTARTS:=25}"
RANDOM=20261126

keeper_start() {
	: >"$work/keep.err"
	"$RINGBACK" keep 2>"$work/keep.err" &
	keeper=$!
	wait_for 20 grep -q "^ringback: keeping" "$work/keep.err"
}

rec_kill() {
	kill -KILL "$rec_pid"
	wait "$rec_pid" 2>/dev/null
	rec_pid=
}

# Starts no process, which would take too long.
wait_for_part() {
	local n

	for ((n = 0; n < 100000; n++)); do
		! compgen -G "$work/dumps/*.part" >/dev/null || return
	done
}

field() {
	sed -n "s/.*\b$1=\(-\?[0-9]*\).*/\1/p" <<<"$2"
}

# ---- a counting thread over many restarts ----

count_over_restarts() {
	local counted=(-C "$pair" -m 128M --symbols off -e 'raw_syscalls:sys_enter[id==121]' --max-dumps 1000)
	local i tid taken=0 unfinished=0 badly=0

	keeper_start
	rec_start "${counted[@]}" || badly=1
	in_background "$loads/load_count" 1000 >"$work/count"
	wait_for 20 test -s "$work/count"
	tid=$(head -n 1 "$work/count")
	dump_now >/dev/null
	for ((i = 0; i < RESTARTS; i++)); do
		# Every second one is killed while it writes a dump, or shortly after.
		if [ $((i % 2)) = 0 ]; then
			sleep "0.$(printf '%03d' $((RANDOM % 90)))"
		else
			kill -USR2 "$rec_pid"
			wait_for_part
			[ $((i % 4)) = 1 ] || sleep "0.$(printf '%03d' $((RANDOM % 20)))"
		fi
		rec_kill
		rec_start "${counted[@]}" || badly=$((badly + 1))
		grep -q 'are taken over' "$work/err" && taken=$((taken + 1))
		if grep -q 'did not finish' "$work/err"; then
			unfinished=$((unfinished + 1))
			wait_for 60 test -s "$work/out"
		fi
		dump_now >/dev/null
	done
	kill "$bg_pid"
	rec_stop
	kill "$keeper"
	wait "$keeper"
	result=$("$loads/tool_gap" "$tid" "$work"/dumps/*.rbd)
	echo "# $RESTARTS restarts, $unfinished of them in a dump: $result"
	check "each recorder starts after the one before was killed" test $badly = 0
	check "each takes over the rings" test $taken = "$RESTARTS"
	check "some were killed while they wrote a dump" test $unfinished -gt 0
	check "no bytes were overwritten between dumps" test "$(field overwritten "$result")" = 0
	check "there is much to count" test "$(field numbers "$result")" -gt $((RESTARTS * 1000))
	check "no number is missing from the first dump to the last" test "$(field missing "$result")" = 0
}

# ---- names, changed channels, a keeper that ends ----

# exec_of COMM DUMP: prints whether the dump has an exec of this name, by a process of this name
exec_of() {
	"$RINGBACK" script --json "$2" | jq -c "select(.event == \"sched:sched_process_exec\" and .comm == \"$1\")" | grep -q .
}

names_and_changes() {
	local dump mine=(-a --channel 'life:sched:sched_process_exec;size=1M' --channel 'sched:sched:sched_switch;size=1M')

	cp /bin/sleep "$work/before-kill"
	cp /bin/true "$work/while-away"
	keeper_start
	"$work/before-kill" 1000 &
	old=$!
	wait_for 20 grep -q before-kill "/proc/$old/comm"
	rec_start "${mine[@]}"
	kill $old
	wait $old 2>/dev/null
	"$work/before-kill" 0
	# Read from the ring, so that the recorder's memory alone has it.
	"$RINGBACK" status >/dev/null
	rec_kill
	"$work/while-away"
	rec_start "${mine[@]}"
	dump=$(dump_now)
	check "who ran before the kill has a name" exec_of before-kill "$dump"
	check "and who ran while there was no recorder" exec_of while-away "$dump"
	check "and a process that was read from /proc and ended before the kill" test \
		"$("$RINGBACK" script --json "$dump" | jq -c "select(.tid == $old and .comm == \"before-kill\")" | grep -c .)" -gt 0
	check "nothing is lost" test "$(info_json "$dump" '[.rings[].lost] | add')" = 0

	cp /bin/true "$work/before-stop"
	"$work/before-stop"
	rec_stop
	rec_start -a --channel 'life:sched:sched_process_exec;size=1M' --channel 'sched:sched:sched_switch,sched:sched_wakeup;size=1M'
	check "a stopped recorder leaves the rings, too" grep -q 'are taken over' "$work/err"
	check "a channel that was changed starts anew" grep -q 'channel sched starts anew' "$work/err"
	dump=$(dump_now)
	check "and the other one reaches back" exec_of before-stop "$dump"

	kill "$keeper"
	wait "$keeper"
	check "the keeper ends by a signal" test $? = 0
	wait_for 20 grep -q 'the keeper has ended' "$work/err"
	check "the recorder says that the keeper has ended" grep -q 'the keeper has ended' "$work/err"
	check "and goes on" test -s "$(dump_now)"
	kill -STOP "$rec_pid" # so that it can't have asked before the keeper hangs
	keeper_start
	kill -STOP "$keeper"
	kill -CONT "$rec_pid"
	check "the recorder does not wait for a keeper that hangs" timeout 3 "$RINGBACK" status >"$work/out"
	sleep 5.2
	"$RINGBACK" status >"$work/out"
	equal "but says so" 1 "$(grep -c 'the keeper does not answer' "$work/err")"
	kill -CONT "$keeper"
	wait_for 20 grep -q 'a keeper holds the rings' "$work/err"
	check "a new keeper gets the rings" grep -q 'a keeper holds the rings' "$work/err"
	rec_kill
	rec_start -a --channel 'life:sched:sched_process_exec;size=1M' --channel 'sched:sched:sched_switch,sched:sched_wakeup;size=1M'
	check "and hands them over" grep -q 'are taken over' "$work/err"
	check "with both channels" test "$(grep -c 'starts anew' "$work/err")" = 0
	check "the keeper sleeps while nothing happens" keeper_sleeps
	check "two keepers of a name are refused" refused "$RINGBACK" keep
	rec_stop
	kill "$keeper"
	wait "$keeper"
	rec_start -a -e sched:sched_switch
	check "without a keeper nothing is taken over" test "$(grep -c 'taken over' "$work/err")" = 0
	rec_stop
	check "nothing is left in the control directory" test -z "$(ls "$work/run")"
}

keeper_sleeps() {
	local before after

	before=$(awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$keeper/status")
	sleep 1
	after=$(awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$keeper/status")
	[ "$before" = "$after" ]
}

refused() {
	! "$@" 2>"$work/refused" && grep -q 'is running already' "$work/refused"
}

# ---- what a keeper may hold ----

# put KIND: gives the keeper a set that is none of a recorder of this version
put() {
	python3 - "$RINGBACK_RUNTIME_DIR/default.keep" "$1" <<'END'
import array, os, socket, struct, sys

s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
kind = sys.argv[2]

def message(what, nr=0, fds=()):
    data = struct.pack("IiII250Q", what, 0, nr, 0, *[0] * 250)
    s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])

if kind == "noise":
    s.send(b"hello")
    sys.exit(0 if s.recv(100) == b"" else 1)
manifest = os.memfd_create("m")
version = 99 if kind == "version" else 2
nr_rings = 1 << 19 if kind == "huge" else 1
ring = struct.pack("QiIIIIIQ", 1, 0, 2, 1 << 31, 0, 0, 0, 0) + bytes(64)
os.write(manifest, struct.pack("QIIII", 0x6b636162676e6972, version, nr_rings, 0, 0) + ring)
log = os.memfd_create("l")
if kind == "log":
    os.lseek(manifest, 0, 0)
    os.write(manifest, struct.pack("QIIII", 0x6b636162676e6972, 2, 0, 0, 0))
    os.ftruncate(manifest, 24)
    os.write(log, struct.pack("QQQQ", 0x676f6c6b6272, 1 << 16, 3, 1 << 60) + b"\xff" * (4096 - 32 + (1 << 16)))
message(1)
message(3, 2, [manifest, log])
message(4, 2)
reply = s.recv(10000)
sys.exit(0 if struct.unpack_from("Ii", reply) == (5, 0) else 1)
END
}

# anew KIND: with such a set, the recorder starts anew
anew() {
	put "$1" || return 1
	rec_start -a -m 64K -e sched:sched_switch || return 1
	test -s "$(dump_now)" || return 1
	rec_stop
	[ "$rec_status" = 0 ]
}

odd_sets() {
	keeper_start
	check "a set of another layout is refused" anew version
	check "and the reason is said" grep -q 'layout (99) differs' "$work/err"
	check "a damaged manifest is refused" anew ring
	check "and said to be damaged" grep -q 'is damaged' "$work/err"
	check "also one that claims to be huge" anew huge
	check "a damaged log is no danger" anew log
	check "noise ends the connection, not the keeper" put noise
	check "the keeper serves the next one" anew version
	check "others can't reach the keeper" test "$(stat -c %a "$RINGBACK_RUNTIME_DIR/default.keep")" = 600
	kill "$keeper"
	wait "$keeper"
}

side_by_side count_over_restarts names_and_changes odd_sets
tap_end

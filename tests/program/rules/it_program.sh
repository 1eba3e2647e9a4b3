#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# Programs tell the recorder (trigger/client/ringback.h): triggers with a reason, heartbeats that
# stop, permissions, and restarts of the recorder. The recorder sleeps meanwhile.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

tell=$loads/load_tell
export RINGBACK_TELL=$work/run/default.tell
events="-C $pair -m 64K -e sched:sched_switch"

# nr_dumps NAME
nr_dumps() {
	grep -c -- "-$1\.rbd$" "$work/out"
}

has_dumps() {
	[ "$(nr_dumps "$1")" -ge "$2" ]
}

last() {
	grep -- "-$1\.rbd$" "$work/out" | tail -n 1
}

saw() {
	info_json "$1" '.trigger.saw[]'
}

# --- the header ---
for compiler in "gcc -x c -std=c99 -D_DEFAULT_SOURCE" "gcc -x c -std=gnu11" "g++ -x c++ -std=c++11" "g++ -x c++ -std=c++20"; do
	printf '#include "trigger/client/ringback.h"\nint main(void) { return ringback_trigger("x") + ringback_heartbeat(); }\n' >"$work/header"
	# shellcheck disable=SC2086
	check "ringback.h compiles without a warning: $compiler" \
		$compiler -Wall -Wextra -Wpedantic -Werror -I. -o "$work/header.out" "$work/header"
done
equal "without a recorder a trigger says so" -1 "$("$tell" trigger nobody)"
equal "and so do heartbeats" 0 "$(chrt -r 1 "$tell" beat 1 5 2>/dev/null)"

# --- triggers ---
# shellcheck disable=SC2086
rec_start $events -T 'program:checkout*' -T 'program:sto?m;name=storm' -T 'stall:300ms;cooldown=0'
equal "the socket is for its owner only" 600 "$(stat -c %a "$RINGBACK_TELL")"
equal "with one it is told" 0 "$("$tell" trigger 'checkout > 2s')"
check "a dump is made" wait_for 20 has_dumps program-checkout 1
path=$(last program-checkout)
equal "the reason is in it" 'checkout > 2s' "$(info_json "$path" .trigger.reason)"
check "and who told it" grep -q "^told_by_uid=0$" <(saw "$path")
equal "and the program's name" load_tell "$(info_json "$path" .trigger.comm)"
"$tell" trigger 'nobody wants this' >"$work/told"
"$tell" trigger storm >"$work/told"
check "each reason goes to the rule that it fits" wait_for 20 has_dumps storm 1
equal "one that fits none makes no dump" 1 "$(nr_dumps program-checkout)"
child=$("$tell" fork 'checkout from a child')
check "a child that has its parent's connection" wait_for 20 has_dumps program-checkout 2
check "is told apart" grep -q "^told_by_pid=$child$" <(saw "$(last program-checkout)")

# --- heartbeats: sent at real-time priority, so that other load does not delay them. A delay by the
# host counts as one more stall ---
late() { awk '{ n += $2 } END { print n + 0 }' "$work/late"; }
wakeups() {
	"$RINGBACK" status --json | jq '.sideband.wakeups'
}
explained=$(wakeups) # what others' processes wake it for
before=$(switches "$rec_pid")
equal "heartbeats are heard once there was an answer" 1 "$(("$(chrt -r 1 "$tell" beat 20 100 2>"$work/late")" > 50))"
slept=$(($(switches "$rec_pid") - before))
explained=$((2 * ($(wakeups) - explained)))
echo "# switches: $slept, of which the sideband explains $explained"
equal "the recorder slept all the while, but for the start and the end" 1 "$((slept - explained < 8))"
sleep 1
stalls=$(nr_dumps stall-300ms)
check "a program that ends has not stalled" test "$stalls" -le "$(late)"
chrt -r 1 "$tell" beat 20 20 stall 1500 >"$work/beats" 2>"$work/late" &
beats=$!
check "one whose heart stops has" wait_for 20 has_dumps stall-300ms $((stalls + 1))
path=$(last stall-300ms)
equal "it is named" load_tell "$(info_json "$path" .trigger.comm)"
check "and for how long" grep -q '^no_heartbeat_for=300 ms$' <(saw "$path")
wait "$beats"
check "one stall is one hit" test "$(nr_dumps stall-300ms)" -le $((stalls + 1 + $(late)))
stalls=$(nr_dumps stall-300ms)
chrt -r 1 "$tell" beat 20 500 >"$work/beats" 2>&1 &
beats=$!
beats_come() { [ "$(awk '/^voluntary/ { print $2 }' "/proc/$beats/status")" -gt 20 ]; }
wait_for 20 beats_come
kill -STOP "$beats"
check "one that is stopped has stalled" wait_for 20 has_dumps stall-300ms $((stalls + 1))
kill -CONT "$beats"
kill "$beats"
wait "$beats" 2>/dev/null

# --- malformed messages ---
python3 - "$RINGBACK_TELL" >"$work/hostile" 2>&1 <<'END'
import os, socket, struct, sys, time

def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    return s

def message(version=1, kind=1, ns=0, pid=0, tid=0, text=b"x", more=b""):
    return struct.pack("<IIQIIQ224s", version, kind, ns, pid, tid, 0, text) + more

s = connect()
for m in (b"x", b"x" * 255, b"\xff" * 256, message(version=7), message(kind=0), message(kind=99),
          message(more=b"y" * 3840), message(more=b"y" * 60000), message(ns=2 ** 64 - 1, tid=2 ** 32 - 1),
          message(text=b"\x1b[31m</script>" * 17)):
    s.send(m)
many = []
try:
    for i in range(600):
        many.append(connect())
except OSError as e:
    print("refused after", len(many), e)
time.sleep(0.3)
for c in many:
    c.close()
s2 = connect()
s2.send(message(text=b"checkout still works"))
time.sleep(0.3)
END
sed 's/^/# /' "$work/hostile"
check "after nonsense, and more peers than it takes, the recorder still listens" wait_for 20 has_dumps program-checkout 3
equal "and no message says who sent it" 0 "$(grep -c 4294967295 <(saw "$(last program-checkout)"))"
"$RINGBACK" status >"$work/status"
check "what was dropped is counted" grep -q '^warning: .*messages of programs were dropped' "$work/status"

# --- a storm ---
before=$(cpu_ticks "$rec_pid")
sent=$("$tell" storm 20000 10000)
nr_hits() {
	"$RINGBACK" status --json | jq '[.rules[] | select(.name == "storm") | .hits] | add'
}
all_counted() {
	[ "$(nr_hits)" = "$((sent + 1))" ]
}
check "every message of a storm that was taken is counted" wait_for 10 all_counted
echo "# $sent sent, $(nr_hits) hits, $(($(cpu_ticks "$rec_pid") - before)) ticks"

# --- the recorder restarts ---
rec_stop
equal "the socket is gone with the recorder" no "$([ -e "$RINGBACK_TELL" ] && echo yes || echo no)"
"$tell" wait 30 >"$work/tries" &
waiting=$!
sleep 0.3
# shellcheck disable=SC2086
rec_start $events
wait "$waiting"
equal "a program that ran before finds the recorder" 0 $?
check "the rule program is there without being asked for" wait_for 20 has_dumps program 1

# --- permissions ---
chmod 755 "$work" "$work/run"
chmod 777 "$RINGBACK_TELL"
cp "$tell" "$work/tell"
as_nobody "$work/tell" trigger 'let me' >"$work/told" 2>&1
sleep 0.3
equal "another user is not heard even where modes allow it" 1 "$(nr_dumps program)"
rec_stop
# shellcheck disable=SC2086
rec_start $events --tell-group games
export RINGBACK_TELL=$work/run.tell/default.tell
equal "a group's socket is for the group" "660 games" "$(stat -c '%a %G' "$RINGBACK_TELL")"
equal "and so is its directory" "750 games" "$(stat -c '%a %G' "$work/run.tell")"
equal "who is not in the group is refused" -1 "$(as_nobody "$work/tell" trigger 'let me')"
equal "who is in it may tell" 0 "$(setpriv --reuid 65534 --regid games --clear-groups "$work/tell" trigger 'as a member')"
check "and gets a dump" wait_for 20 has_dumps program 1
equal "a supplementary group does too" 0 \
	"$(setpriv --reuid 65534 --regid 65534 --groups games "$work/tell" trigger 'as a member')"
rec_stop
check "an unknown group is an error" \
	bash -c "! $RINGBACK record --config /dev/null --memory 0 $events --tell-group nosuchgroup -o $work 2>$work/second && grep -q nosuchgroup $work/second"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What another user must not be able to do to root's recorder: trigger it, stop it, fill its disk,
# make it read or write a file for them (symbolic links, FIFOs), or pass for a watched process (a
# reused pid).
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

channel="-C $pair -m 64K -e sched:sched_process_exit --symbols=off"
secret=$work/secret
echo "ERROR the secret of root" >"$secret"
chmod 600 "$secret"
chmod 755 "$work"
mkdir "$work/theirs"
chown 65534:65534 "$work/theirs"
for program in ringback tests/load_tell; do cp "$RINGBACK_BUILD/$program" "$work/"; done

nr_dumps() {
	wc -l <"$work/out"
}

# rule NAME FIELD
rule() {
	"$RINGBACK" status --json | jq -r ".rules[] | select(.name == \"$1\") | .$2"
}

is_armed() {
	[ "$("$RINGBACK" status --json | jq -r .state)" = armed ]
}

has_hits() {
	[ "$(rule "$1" hits)" -ge "$2" ]
}

# --- trigger, client messages, signals, stop ---
# shellcheck disable=SC2086
rec_start $channel
for signal in USR2 TERM INT HUP KILL; do
	check "another user can't send SIG$signal" bash -c "! setpriv --reuid 65534 --clear-groups kill -$signal $rec_pid 2>/dev/null"
done
check "nor ask with ringback trigger" bash -c "! RINGBACK_RUNTIME_DIR=$work/run setpriv --reuid 65534 --clear-groups $work/ringback trigger"
RINGBACK_TELL=$work/run/default.tell as_nobody "$work/load_tell" trigger 'let me in' >"$work/told"
equal "nor tell with ringback.h" -1 "$(cat "$work/told")"
check "nor look at its status" bash -c "! RINGBACK_RUNTIME_DIR=$work/run setpriv --reuid 65534 --clear-groups $work/ringback status"
sleep 0.3
equal "nothing came of it" "0 armed" "$(nr_dumps) $("$RINGBACK" status --json | jq -r .state)"
rec_stop

# --- the disk ---
# shellcheck disable=SC2086
rec_start $channel -T 'crash:sec-victim;max=5/24h' -T 'crash:endless'
cat >"$work/crash.c" <<'END'
#include <signal.h>
int main(void) { return raise(SIGSEGV); }
END
gcc -o "$work/sec-victim" "$work/crash.c"
cp "$work/sec-victim" "$work/endless"
chmod 755 "$work/sec-victim" "$work/endless"
# crashes NAME NR: crashes of NAME, each in a dump of its own if it gets one
crashes() {
	local i

	for ((i = 1; i <= $2; i++)); do
		(ulimit -c 0; as_nobody "$work/$1") >/dev/null 2>&1
		wait_for 20 has_hits "crash-$1" "$i"
		wait_for 20 is_armed
	done
} 2>/dev/null
crashes sec-victim 12
equal "who crashes on and on gets the dumps that the rule allows" 5 "$(nr_dumps)"
check "the others are held" test "$(rule crash-sec-victim held)" -ge 7
rec_stop
check "without a limit in the rule there is one" \
	grep -q 'at most 100 in 24.0 h' <("$RINGBACK" record --config /dev/null --memory 0 --dry-run -T crash:endless)

# --- files that a rule reads ---
mkdir "$work/theirs/log"
chown 65534:65534 "$work/theirs/log"
log=$work/theirs/log/app.log
as_nobody touch "$log"
# shellcheck disable=SC2086
rec_start $channel -T "file:$log~ERROR"
as_nobody sh -c "echo ERROR of theirs >>$log"
check "a line in another user's file is seen" wait_for 20 has_hits "$("$RINGBACK" status --json | jq -r '.rules[] | select(.name | startswith("file")) | .name')" 1
name=$("$RINGBACK" status --json | jq -r '.rules[] | select(.name | startswith("file")) | .name')
wait_for 20 is_armed
as_nobody sh -c "rm $log; ln -s $secret $log"
echo "ERROR another secret of root" >>"$secret"
sleep 1.5
equal "a symbolic link in its place is not followed" 1 "$(rule "$name" hits)"
as_nobody sh -c "rm $log; mkfifo $log"
sleep 1.2
check "a FIFO in its place is not waited for" timeout 100 "$RINGBACK" status
as_nobody sh -c "rm $log; ln -s /dev/zero $log"
sleep 1.2
equal "nor a device read" 1 "$(rule "$name" hits)"
as_nobody sh -c "rm $log; echo ERROR again >$log"
check "a file that comes back is followed again" wait_for 20 has_hits "$name" 2
wait_for 20 is_armed
rec_stop
empty "nothing of root's file is in any dump" "$(for f in "$work"/dumps/*.rbd; do "$RINGBACK" info "$f" | grep secret; done)"

# --- files for dumps ---
mkdir -m 1777 "$work/shared"
# shellcheck disable=SC2086
rec_start $channel -o "$work/shared" -T signal:USR1
as_nobody sh -c "for s in 0 1 2 3 4 5 6 7 8 9; do ln -s $secret $work/shared/ringback-\$(hostname)-x\$s.rbd; done"
before=$(cat "$secret")
path=$(dump_now)
equal "a dump is root's and only root's" "0 600" "$(stat -c '%u %a' "$path")"
equal "nothing was written through links" "$before" "$(cat "$secret")"
check "and another user can't take it away" bash -c "! setpriv --reuid 65534 --clear-groups rm -f $path"
rec_stop

# --- a reused pid ---
sleep 1000 &
watched=$!
disown "$watched"
# shellcheck disable=SC2086
rec_start $channel -T "rss:$watched>20M;name=size" -T "exit:$watched;name=end" -T "crash:$watched;name=crash"
kill "$watched"
check "the end of a process is seen" wait_for 20 has_hits end 1
wait_for 20 is_armed
# A new process with that pid: uses memory beyond the threshold, then crashes.
if with_pid "$watched" python3 -c 'import os, time; held = bytearray(b"x") * (64 << 20); time.sleep(4); print("was there", flush=True); os.abort()' \
	>"$work/impostor" 2>&1 || grep -q 'was there' "$work/impostor"; then
	sleep 0.5
	equal "a process that has its pid now is not measured" 0 "$(rule size hits)"
	equal "nor is its crash the other's" 0 "$(rule crash hits)"
else
	not_ok "a pid could be used again" "$(cat "$work/impostor")"
fi
rec_stop
tap_end

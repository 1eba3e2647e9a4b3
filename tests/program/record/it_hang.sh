#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A file system that stops answering: who reads a file of it can't be killed any more. A dump with
# addresses in such a file is complete soon after the time for names, further dumps need no time for
# it, and the recorder ends at once. Memory of such a file holds up neither a crash that is told nor a
# rule that watches a value.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "a file system hangs" "this takes root"

# dump: makes a dump, its path in $path, the time it took in $took, in s
dump() {
	local begin=$SECONDS

	path=$(timeout 60 "$RINGBACK" trigger)
	took=$((SECONDS - begin))
	echo "# a dump in $took s"
}

# names: how the search for names of that dump ended
names() {
	info_json "$path" .symbols.end
}

has_names() {
	dump && [ "$(names)" = "done" ]
}

# mount_file: $work/fs/file is the program, served by $server
mount_file() {
	rm -f "$work/mounted"
	"$loads/load_fuse" "$work/fs" "$work/known" >"$work/mounted" &
	server=$!
	at_end+=("kill -KILL $server 2>/dev/null; umount -l '$work/fs' 2>/dev/null")
	wait_for 10 eval "grep -q mounted '$work/mounted' || ! kill -0 $server"
}

has_ended() {
	! kill -0 "$1"
}

gcc -O1 -g -fno-omit-frame-pointer -fno-stack-protector -fcf-protection=none -nostdlib -static -o "$work/known" tests/helpers/known.c
truncate -s 1M "$work/known" # the end is not in memory until it is read
mkdir "$work/fs"
mount_file
if ! grep -q mounted "$work/mounted"; then
	skip "a file system hangs" "no file system in user space"
	tap_end
	exit
fi

in_background "$work/fs/file" 1 1000000
busy=$bg_pid
exec 9<>"$work/inherited"
rec_start -a --channel "cpu:cpu-clock/freq=1999/u;size=1M;stack=fp" --symbols 2s
exec 9>&-
sleep 0.3
dump
equal "the file system answers: a dump has names" "done" "$(names)"

kill -USR1 "$server"
dump
check "it answers no more: a dump is made" "$RINGBACK" check "$path"
check "... soon after the time for names" test "$took" -lt 20
equal "... whose end it says" "time" "$(names)"
equal "the hanging process is named once" 1 "$(grep -c 'process [0-9]*, which looks up names, hangs' "$work/err")"
hung=$(sed -n 's/.* process \([0-9]*\), which looks up names, hangs.*/\1/p' "$work/err")
equal "... it has the dump, a pipe for names, and no messages" "$path pipe: /dev/null" \
	"$(readlink /proc/"$hung"/fd/{0,1,2} | sed 's/pipe:.*/pipe:/' | paste -sd' ')"
equal "... else files only: no event, BPF program or socket of the recorder" "pipe:" \
	"$(readlink /proc/"$hung"/fd/* | grep -v '^/' | sed 's/pipe:.*/pipe:/')"
empty "... nor what that inherited" "$(readlink /proc/"$hung"/fd/* | grep -F "$work/inherited")"
dump
check "the next dump is made" "$RINGBACK" check "$path"
equal "... without a search" "failed" "$(names)"
equal "... nor another message" 1 "$(grep -c 'which looks up names, hangs' "$work/err")"
check "the recorder answers" timeout 10 "$RINGBACK" status

kill -KILL "$busy" "$server"
wait "$busy" "$server" 2>/dev/null
check "the file system has ended: dumps have names again" wait_for 10 has_names
check "... and the hanging process is reaped" has_ended "$hung"
rec_stop

# ---- a crash is told, with a stack pointer into a page of such a file; SIGTERM ----

umount -l "$work/fs"
mount_file
in_background "$work/fs/file" 1 1000000
in_background env RINGBACK_TELL="$work/run/default.tell" "$loads/load_told" "$work/fs/file" >"$work/told"
told=$bg_pid
wait_for 10 test -s "$work/told"
in_background "$loads/load_told" "$work/fs/file" >"$work/watched"
rule=watch:$bg_pid:
wait_for 10 test -s "$work/watched"
rule+="$(cat "$work/watched"):rw8"
rec_start -a --channel "cpu:cpu-clock/freq=1999/u;size=1M;stack=fp" --symbols 1s -T 'crash:load_told'
sleep 0.3
kill -USR1 "$server"
kill -USR1 "$told"
wait "$told"
check "a crash is told: it is answered" test "$(tail -n 1 "$work/told")" -gt 0
check "... and the recorder answers" timeout 10 "$RINGBACK" status
check "... a dump is made" wait_for 20 grep -q . "$work/out"
path=$(cat "$work/out")
equal "... of that crash" "signal=SIGSEGV" "$(info_json "$path" '.trigger.saw[0]')"
hung=$(sed -n 's/.* process \([0-9]*\), which looks up names, hangs.*/\1/p' "$work/err")
check "a process hangs" kill -0 "$hung"
kill -TERM "$rec_pid"
check "SIGTERM ends the recorder even so" wait_for 1 has_ended "$rec_pid"
rec_stop
equal "... as usual" 0 "$rec_status"

# ---- a value is watched in such a page ----

# reader_rights: capabilities of the processes that read memory for recorders with this program
reader_rights() {
	local comm

	for comm in $(grep -lsx ringback-memory /proc/[0-9]*/comm); do
		[ "${comm%comm}exe" -ef "$RINGBACK" ] && sed -n 's/^Cap\(Prm\|Eff\):\s*//p' "${comm%comm}status"
	done | sort -u
}

# watch is not used where there are no breakpoints.
rec_start -a -e sched:sched_switch -m 64K -T "$rule"
if grep -q 'rule watch.* is not used' "$work/err"; then
	skip "a value is watched: it says that it can't be read" "$(cat "$work/err")"
else
	check "a value is watched: it says that it can't be read" grep -q 'values are no longer read' <(timeout 10 "$RINGBACK" status)
	equal "... by a process that may do nothing else (CAP_SYS_PTRACE)" 0000000000080000 "$(reader_rights)"
fi
check "... and the recorder answers" timeout 10 "$RINGBACK" status
rec_stop
equal "... and ends as usual" 0 "$rec_status"
empty "no dump is unfinished" "$(find "$work/dumps" -name '*.part')"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: kernel.core_pattern is everybody's, and a crash is held for 250 ms at most
#
# Unusual crashes: setuid programs with fs.suid_dumpable 2, programs in namespaces of users, mounts
# and pids, cores that no process reads, and streams that stop. Cores go where the kernel would have
# put them, and no crash delays another.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/helpers/crashes.sh

only_root "odd crashes" "this takes root"

crew=$loads/load_crew
setting=/proc/sys/kernel/core_pattern
suid=/proc/sys/fs/suid_dumpable
at_end+=("echo '$(cat $setting)' >$setting" "echo $(cat $suid) >$suid")
echo core >$setting
quiet="-a -e cgroup:cgroup_mkdir -m 64K -T crash:load_crew;cooldown=0"

# Unprivileged users need to enter it.
chmod 711 "$work"
mkdir -m 755 "$work/bin"
mkdir -m 700 "$work/cores"
mkdir -m 777 "$work/box"
cp "$crew" "$work/bin/load_crew"

# threads FILE: number of threads in a core
threads() {
	readelf -n "$1" 2>/dev/null | grep -c NT_PRSTATUS
}

# shows DUMP PATTERN: the report has a matching line
shows() {
	"$RINGBACK" report "$1" | grep -q "$2"
}

# ---- namespaces: users, mounts, processes ----

cat >"$work/bin/boxed" <<'END'
#!/bin/sh
# load_crew runs from a file system that only this mount namespace has.
mount -t tmpfs none "$1" && cp "$2" "$1/load_crew" && cd "$1" || exit 1
ulimit -c unlimited
./load_crew segv
# The core may still be being written.
for i in 1 2 3 4 5 6 7 8 9 10; do
	[ ! -s core ] || break
	sleep 0.1
done
cp core* "$3"
END
chmod 755 "$work/bin/boxed"
boxed() {
	rm -f "$work/box/"*
	: >"$work/bin/core.boxed"
	chmod 666 "$work/bin/core.boxed"
	(cd / && as_nobody unshare --user --map-root-user --mount --pid --fork --mount-proc "$work/bin/boxed" "$work/box" "$work/bin/load_crew" \
		"$work/bin/core.boxed") >"$work/boxed" 2>&1
}
# shellcheck disable=SC2086 # a list of words
rec_start $quiet
boxed
check "namespaces: the crash has a dump" wait_for 10 has_dumps 1
# The file is gone with its mounts, so functions have no names.
check "and where, in a program that only it could see" shows "$(last)" '^crashed *load_crew+0x'
check "and the number that it has for the whole machine" test "$(info_json "$(last)" .trigger.pid)" -gt 100
equal "and whose it is" 65534 "$(info_json "$(last)" .trigger.uid)"
rec_stop
for way in socket pipe; do
	unset RINGBACK_CRASH_PIPE
	[ $way = socket ] || export RINGBACK_CRASH_PIPE=1
	if [ $way = socket ] && ! grep -q socket /proc/sys/kernel/core_modes 2>/dev/null; then
		skip "$way: namespaces" "this kernel has none"
		continue
	fi
	# shellcheck disable=SC2086
	rec_start $quiet --crash-hold
	boxed
	check "$way: namespaces: the crash has a dump" wait_for 10 has_dumps 1
	equal "$way: with all threads" 8 "$(saw threads)"
	equal "$way: and whose it is" 65534 "$(info_json "$(last)" .trigger.uid)"
	equal "$way: its core is in the file system that it has for itself" 8 "$(threads "$work/bin/core.boxed")"
	equal "$way: and nowhere else" "" "$(ls "$work/box")"

	# ---- setuid ----
	rec_stop
	cp "$crew" "$work/bin/load_crew.suid"
	chown 65534 "$work/bin/load_crew.suid"
	chmod 4755 "$work/bin/load_crew.suid"
	echo 2 >$suid
	echo "$work/cores/core.%p" >$setting
	# shellcheck disable=SC2086
	rec_start -a -e cgroup:cgroup_mkdir -m 64K -T 'crash:load_crew.suid;cooldown=0' --crash-hold
	{ (cd "$work/box" && ulimit -c unlimited && exec "$work/bin/load_crew.suid" segv) >/dev/null 2>&1; } 2>/dev/null
	check "$way: a setuid program has a dump" wait_for 10 has_dumps 1
	equal "$way: with all threads" 8 "$(saw threads)"
	check "$way: its core is written" wait_for 5 test -s "$(saw core)"
	equal "$way: for root only" "600 0 8" "$(stat -c '%a %u' "$(saw core)") $(threads "$(saw core)")"
	rm -f "$work"/cores/*
	rec_stop
	# Like the kernel: with this setting no core goes to the working directory.
	echo core >$setting
	rec_start -a -e cgroup:cgroup_mkdir -m 64K -T 'crash:load_crew.suid;cooldown=0' --crash-hold
	{ (cd "$work/box" && ulimit -c unlimited && exec "$work/bin/load_crew.suid" segv) >/dev/null 2>&1; } 2>/dev/null
	check "$way: where a core must not be it is dumped all the same" wait_for 10 has_dumps 1
	equal "$way: and there is no core" "" "$(ls "$work/box")"
	rec_stop
done
unset RINGBACK_CRASH_PIPE

# ---- the stream stops: the handler keeps what arrived and ends after a timeout ----

stand_in
head -c 1000003 /dev/urandom >"$work/half"
mkfifo "$work/fifo"
exec 8<>"$work/fifo"
RINGBACK_CRASH_SILENT_MS=300 timeout 20 "$RINGBACK" crash-handler "$work/kept" $live $live 11 1 <"$work/fifo" &
handler=$!
cat "$work/half" >&8
wait "$handler"
equal "a stream that stops in the middle is not waited for" 0 $?
exec 8<&-
check "and what came of it is in the core" cmp "$work/half" "$work/live/core.$live"
kill "$live"
wait "$live" 2>/dev/null

# ---- a program that does not read the core ----

# crash_aside [as_nobody]: starts a load_crew that crashes in the background; sets $aside
crash_aside() {
	(cd "$work/box" && ulimit -c unlimited && "${1:-exec}" "$work/bin/load_crew" bulk 1) >/dev/null 2>&1 &
	aside=$!
}
if grep -q socket /proc/sys/kernel/core_modes 2>/dev/null; then
	cp "$(command -v sleep)" "$work/bin/rb$$"
	echo "|$work/bin/rb$$ 600" >$setting
	at_end+=("pkill -KILL -x rb$$")
	export RINGBACK_CRASH_WORKERS=2
	# shellcheck disable=SC2086
	rec_start $quiet --crash-hold
	for n in 1 2; do
		crash_aside
		held[n]=$aside
		check "crash $n, whose core nobody reads, has a dump" wait_for 10 has_dumps $n
		equal "with all threads" 8 "$(saw threads)"
	done
	crash_aside
	ended() { ! kill -0 "$1"; }
	check "when all who can wait do, another that crashes is not held for them" wait_for 10 ended "$aside"
	check "and has a dump" wait_for 10 has_dumps 3
	kill -KILL "${held[1]}"
	check "who is held can be killed" wait_for 10 ended "${held[1]}"
	SECONDS=0
	rec_stop
	check "the recorder ends while there are some" test $SECONDS -le 4
	equal "and the pattern is back" "|$work/bin/rb$$ 600" "$(cat $setting)"
	pkill -KILL -x rb$$
	check "when the program ends, who is held does" wait_for 10 ended "${held[2]}"

	# A quarter of 4 workers holds one crash of a user; of 16 more, 4 hand on cores.
	export RINGBACK_CRASH_WORKERS=4
	: >"$work/out"
	: >"$work/err"
	# shellcheck disable=SC2086
	rec_start $quiet --crash-hold
	for n in 1 2 3 4 5 6; do
		crash_aside as_nobody
	done
	check "what was not held is logged" wait_for 20 grep -q \
		'too many crashes at once: 5 were not held and recorded without all threads; 1 without a core' "$work/err"
	equal "once for all" 1 "$(grep -c 'too many crashes at once' "$work/err")"
	crash_aside
	of_root() { [ "$(info_json "$(last)" .trigger.uid)" = 0 ]; }
	check "a crash of root then has a dump" wait_for 10 of_root
	equal "and is held: it has all threads" 8 "$(saw threads)"
	rec_stop
	pkill -KILL -x rb$$
	unset RINGBACK_CRASH_WORKERS
else
	skip "a core that nobody takes" "this kernel has no coredump socket"
fi
tap_end

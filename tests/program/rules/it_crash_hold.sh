#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: kernel.core_pattern is everybody's, and a crash is held for 250 ms at most
#
# record --crash-hold: the dump has all threads of the crashed process, with gdb's frames for the
# same core. The core goes on to the previous kernel.core_pattern, which is restored whichever
# process is killed.
# TIMEOUT: 300
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/helpers/crashes.sh

only_root "crashes are held" "this takes root"

sources=$PWD/tests/load/crash
crew=$loads/load_crew
setting=/proc/sys/kernel/core_pattern
pattern=$(cat $setting)
at_end+=("echo '$pattern' >$setting")
echo core >$setting
quiet="-a -e cgroup:cgroup_mkdir -m 64K --crash-hold"

# crashes DIR LIMIT PROGRAM ARG...: runs it to its end in DIR, with a core size limit
crashes() {
	mkdir -p "$1"
	{ (cd "$1" && ulimit -c "$2" && exec "${@:3}") >/dev/null 2>&1; } 2>/dev/null
}

is_pattern() {
	[ "$(cat $setting)" = "$1" ]
}

# guard: the process that restores the pattern
guard() {
	pgrep -P "$rec_pid" -x ringback-crash
}

ours() {
	"$RINGBACK" script --json --event 'crash:thread' "$1" | jq -r '
		select(.user_stack) | .tid as $t | .user_stack.chain[] | ($t | tostring) + " " + .ip[2:] + " " + (.function // "?")' |
		sort -s -n -k 1,1 | same_names
}

theirs() {
	gdb -batch -nx -ex 'set debuginfod enabled off' -x "$sources/threads.py" "$1" "$2" 2>/dev/null |
		sed -n 's/^frame //p' | same_names
}

# compare NAME PROGRAM CORE THREADS: compares the last dump with the core
compare() {
	wait_for 30 has_dumps 1
	rec_stop
	ours "$(last)" >"$work/ours"
	theirs "$2" "$3" >"$work/theirs"
	echo "# $1: $(cut -d' ' -f1 "$work/ours" | sort -u | wc -l) threads, $(wc -l <"$work/ours") frames; parked $(saw parked)"
	check "$1: all threads are there" test "$(cut -d' ' -f1 "$work/ours" | sort -u | wc -l)" -ge "$4"
	check "$1: each frame of each thread is gdb's" diff "$work/theirs" "$work/ours"
}

# ---- the threads, and the core ----

# alike DIR: a reproducible core, from a pid namespace and without ASLR. With one arena only: arenas
# per thread get addresses in the order of first use.
hard=$(ulimit -H -c)
alike() {
	(mkdir -p "$1" && cd "$1" && ulimit -Sc 0 && env -i MALLOC_ARENA_MAX=1 setarch -R unshare --pid --fork --mount-proc /bin/sh -c \
		"ulimit -c unlimited; exec '$crew' segv") >/dev/null 2>&1
}
# same_core DIR: counts the bytes of DIR/core that differ from k1, a core that the kernel wrote.
# Threads that start at the same time may swap their addresses; then it makes another core.
same_core() {
	for try in 1 2 3 4 5 6 7 8; do
		alike "$1"
		python3 "$sources/same_core.py" "$work/k1/core" "$1/core" 1000000 >"$work/same" 2>"$work/other" && return
		rm -f "$1/core"
	done
	cat "$work/other"
	return 1
}
if [ "$hard" = unlimited ]; then
	alike "$work/k1"
	check "two cores by the kernel are alike" same_core "$work/k2"
	echo "# two cores by the kernel: $(cat "$work/same")"
fi

for way in socket pipe; do
	unset RINGBACK_CRASH_PIPE
	[ $way = socket ] || export RINGBACK_CRASH_PIPE=1
	if [ $way = socket ] && ! grep -q socket /proc/sys/kernel/core_modes 2>/dev/null; then
		skip "the coredump socket" "this kernel has none"
		continue
	fi
	# shellcheck disable=SC2086 # a list of words
	rec_start $quiet -T crash:load_crew
	[ $way = pipe ] || check "$way: the kernel asks the socket" grep -q '^@' $setting
	[ $way = socket ] || check "$way: the kernel starts the program" grep -q '^|.* crash-handler ' $setting
	check "$way: doctor knows that a recorder has it" grep -q 'a running recorder (--crash-hold)' <("$RINGBACK" doctor | tr -s ' \n' ' ')
	check "$way: its socket is no recorder for status" "$RINGBACK" status
	check "$way: a second one is refused" grep -q 'there can be one' <(
		"$RINGBACK" record --config /dev/null --memory 0 -n other -o "$work/dumps" -a -T crash --crash-hold 2>&1
	)
	crashes "$work/cwd-$way" unlimited "$crew"
	compare "$way: eight threads" "$crew" "$work/cwd-$way/core" 8
	equal "$way: what it saw" "SIGSEGV SEGV_MAPERR 8 0x10 core" \
		"$(saw signal) $(saw code) $(saw threads) $(saw address) $(saw core)"
	equal "$way: the file is its owner's alone" "600 0" "$(stat -c '%a %u' "$work/cwd-$way/core")"
	equal "$way: the pattern is back" core "$(cat $setting)"
	# shellcheck disable=SC2086 # a list of words
	rec_start $quiet -T crash:nobody-else
	if [ "$hard" = unlimited ]; then
		check "$way: a core has all headers of the kernel's own" same_core "$work/same-$way"
		echo "# one by the kernel, one through ringback: $(cat "$work/same")"
		check "$way: the core is the kernel's own, but for what is new in each run" \
			test "$(awk '{ print $3 }' "$work/same")" -le 1000
	fi
	crashes "$work/none-$way" 0 "$crew"
	equal "$way: with RLIMIT_CORE 0 there is no core" "" "$(ls "$work/none-$way")"
	crashes "$work/cut-$way" 40 "$crew"
	check "$way: a limit cuts it" test "$(du -k --apparent-size "$work/cut-$way/core" | cut -f1)" -ge 1
	check "$way: nothing that no rule names makes a dump" test ! -s "$work/out"
	rec_stop
done
unset RINGBACK_CRASH_PIPE

# ---- cores of any content ----

# The handler reads the stream on stdin and must write the same bytes to the file.
stand_in
head -c 5000000 /dev/urandom >"$work/stream-random"
head -c 3000001 /dev/zero >"$work/stream-zeros"
cp "$work/cwd-pipe/core" "$work/stream-core"
head -c 3000 "$work/stream-core" >"$work/stream-short"
{ head -c 64 "$work/stream-core" && head -c 300000 /dev/urandom; } >"$work/stream-notes"
: >"$work/stream-empty"
for stream in random zeros core short notes empty; do
	rm -f "$work/live/"*
	"$RINGBACK" crash-handler "$work/kept" $live $live 11 1 <"$work/stream-$stream"
	check "the very bytes of a stream are in the file: $stream" cmp "$work/stream-$stream" "$work/live/core.$live"
done
kill "$live"
wait "$live" 2>/dev/null

# ---- the previous pattern is a program ----

cat >"$work/taker" <<END
#!/bin/sh
echo "\$@" >"$work/args.\$1"
exec cat >"$work/taken.\$1"
END
chmod 755 "$work/taker"
echo "|$work/taker %P %s %e %c lit%%eral" >$setting
# shellcheck disable=SC2086 # a list of words
rec_start $quiet -T crash:load_crew
in_background "$crew" wait >"$work/load"
wait_for 20 grep -q ready "$work/load"
prlimit --pid "$bg_pid" --core=0:0
kill -SEGV "$bg_pid"
wait "$bg_pid" 2>/dev/null
wait_for 20 test -s "$work/taken.$bg_pid"
sleep 0.3
equal "a program gets the arguments that the kernel gives" "$bg_pid 11 load_crew 0 lit%eral" "$(cat "$work/args.$bg_pid")"
compare "a program gets the core" "$crew" "$work/taken.$bg_pid" 8
equal "its pattern is back" "|$work/taker %P %s %e %c lit%%eral" "$(cat $setting)"
echo core >$setting

# ---- real servers ----

# shellcheck disable=SC2086 # a list of words
rec_start $quiet -T crash:redis-server
(mkdir -p "$work/redis" && cd "$work/redis" && ulimit -c unlimited && exec redis-server --port 0 --unixsocket "$work/redis/s" --save '' \
	--dir "$work/redis" --crash-log-enabled no) >/dev/null 2>&1 &
bg_pid=$!
wait_for 20 redis-cli -s "$work/redis/s" ping >/dev/null
kill -SEGV "$bg_pid"
wait "$bg_pid" 2>/dev/null
compare "redis-server" "$(command -v redis-server)" "$work/redis/core" 4

# ---- killed processes ----

# shellcheck disable=SC2086 # a list of words
rec_start $quiet -T crash
kill -KILL "$rec_pid"
wait "$rec_pid" 2>/dev/null
check "the recorder is killed: its guard puts the pattern back" wait_for 5 is_pattern core
# shellcheck disable=SC2086 # a list of words
rec_start $quiet -T crash
kill -KILL "$(guard)"
rec_stop
equal "the guard is killed: the recorder puts it back" core "$(cat $setting)"

# Kills recorder and guard: the pattern stays.
kill_both() {
	# shellcheck disable=SC2086 # a list of words
	rec_start $quiet -T crash
	kill -KILL "$(guard)" "$rec_pid"
	wait "$rec_pid" 2>/dev/null
}
kill_both
check "both are killed: the pattern is left" grep -q ringback-core.socket $setting
check "doctor says so" grep -q 'left by a killed recorder' <("$RINGBACK" doctor | tr -s ' \n' ' ')
equal "doctor --repair puts it back" "kernel.core_pattern is restored to 'core'" "$("$RINGBACK" doctor --repair)"
equal "it is back" core "$(cat $setting)"
equal "there is nothing left to repair" "nothing to repair" "$("$RINGBACK" doctor --repair)"
kill_both
rec_start -a -e cgroup:cgroup_mkdir -m 64K
equal "or the next recorder does" core "$(cat $setting)"
check "and says so" grep -q "is 'core' again" "$work/err"
rec_stop

# ---- refused options ----

refused() {
	"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -a -e cgroup:cgroup_mkdir -m 64K --crash-hold "$@" 2>&1
}
check "without a rule crash" grep -q 'needs a crash rule' <(refused -T load\>1000)
equal "nothing has changed" core "$(cat $setting)"

# ---- without CAP_SYS_CHROOT, as in a service: it records without the hold ----

: >"$work/err" # what the one before said
unshare -m setpriv --bounding-set=-sys_chroot --inh-caps=-sys_chroot "$RINGBACK" record --config /dev/null --memory 0 \
	-o "$work/dumps" -a -e cgroup:cgroup_mkdir -m 64K -T crash --crash-hold >"$work/out" 2>"$work/err" &
rec_pid=$!
check "where crash-hold can't be had, it is recorded without" wait_for 60 grep -q '^ringback: recording$' "$work/err"
check "and said so" grep -q 'recording without crash-hold' "$work/err"
equal "nothing has changed either" core "$(cat $setting)"
rec_stop
equal "it ends with 0" 0 "$rec_status"
tap_end

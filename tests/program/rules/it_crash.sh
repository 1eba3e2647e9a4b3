#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: kernel.core_pattern is everybody's, and nobody is to wake the recorder
#
# crash rules: which signals they match, and which not. The dump's stack of the thread that crashed
# equals gdb's for a core file of the same crash, for a server, a worker of a server, a stripped C++
# program and a static one.
# TIMEOUT: 300
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/helpers/crashes.sh

only_root "crashes are seen" "this takes root"

sources=$PWD/tests/load/crash
crash=$loads/load_crash
# Other programs on this machine may crash too: every rule here names a program or a process.
quiet="-a -e cgroup:cgroup_mkdir -m 64K"

# run COMMAND...: runs it to its end without a core file and without the shell's message
run() {
	{ (ulimit -c 0 && exec "$@") >/dev/null; } 2>/dev/null
}

# waits NAME: a program that waits for a signal, $bg_pid. The shell makes background processes
# ignore SIGQUIT, so env resets it.
waits() {
	in_background env --default-signal=QUIT "$crash" wait "$1" >"$work/load"
	wait_for 20 grep -q ready "$work/load"
}

# ---- what counts as a crash ----

# shellcheck disable=SC2086 # a list of words
rec_start $quiet --symbols off -T 'crash:ringback-c*;cooldown=0'
ways=0
for way in segv:SIGSEGV:SEGV_MAPERR fpe:SIGFPE:FPE_INTDIV ill:SIGILL:ILL_ILLOPN trap:SIGTRAP:SI_KERNEL abort:SIGABRT:SI_TKILL \
	queue:SIGSEGV:SI_QUEUE reset:SIGSEGV:SEGV_MAPERR deep:SIGSEGV:SEGV_MAPERR; do
	IFS=: read -r how signal code <<<"$way"
	ways=$((ways + 1))
	run "$crash" "$how" ringback-c1
	check "$how: a dump" wait_for 5 has_dumps $ways
	equal "$how: by $signal, $code" "$signal $code ringback-c1" "$(saw signal) $(saw code) $(info_json "$(last)" .trigger.comm)"
done
for signal in QUIT XCPU XFSZ BUS SYS; do
	ways=$((ways + 1))
	waits ringback-c1
	kill -$signal "$bg_pid"
	wait "$bg_pid" 2>/dev/null
	check "$signal from outside: a dump" wait_for 5 has_dumps $ways
	equal "$signal from outside: says so" "SIG$signal SI_USER" "$(saw signal) $(saw code)"
done
run "$crash" threads ringback-c2
check "two threads at once: a dump" wait_for 5 has_dumps $((ways + 1))
before=$(hits)
for how in "handled ringback-c1 1000" "ignored ringback-c1 100" "kill ringback-c1" "term ringback-c1" "segv ringback-d"; do
	# shellcheck disable=SC2086 # a list of words
	run "$crash" $how
done
sleep 0.3
equal "no crash is what is handled, ignored, or ended by KILL or TERM; and whose name is another" "$before" "$(hits)"
rec_stop
check "it ends with 0" test "$rec_status" = 0

# ---- a process ----

waits ringback-p
victim=$bg_pid
# shellcheck disable=SC2086 # a list of words
rec_start $quiet --symbols off -T "crash:$victim"
run "$crash" segv ringback-p
kill -SEGV "$victim"
wait "$victim" 2>/dev/null
check "crash:PID: a dump" wait_for 5 has_dumps 1
equal "crash:PID: of that process" "$victim" "$(info_json "$(last)" .trigger.pid)"
equal "crash:PID: one hit" 1 "$(hits)"
rec_stop
check "a process that is not there is refused" grep -q "there is no process $victim" <(
	"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -a -T "crash:$victim" 2>&1
)

# ---- nothing wakes until something crashes; a storm ----

# shellcheck disable=SC2086 # a list of words
rec_start $quiet --symbols off -T 'crash:ringback-s;cooldown=1h'
# Processes that other programs start wake the recorder now and then, through the sideband.
for _ in 1 2 3 4 5 6 7 8; do
	before=$(switches "$rec_pid")
	"$crash" handled ringback-s 2000
	sleep 2
	after=$(switches "$rec_pid")
	[ "$before" != "$after" ] || break
done
equal "no context switch by 2,000 faults that are handled, within 2 s" "$before" "$after"
run "$crash" storm ringback-s 300
check "all of 300 crashes one after the other are counted" wait_for 20 has_hits 300
equal "none twice" 300 "$(hits)"
wait_for 20 has_dumps 1
equal "one dump of them" 1 "$(dumps)"
rec_stop

# ---- the same stack as gdb's ----

pattern=$(cat /proc/sys/kernel/core_pattern)
case $pattern in
core | core.%p | core-%p) ;;
*)
	at_end+=("echo '$pattern' >/proc/sys/kernel/core_pattern")
	echo core >/proc/sys/kernel/core_pattern
	;;
esac

# ours DUMP, theirs PROGRAM CORE: "PC NAME" a frame, innermost first
ours() {
	"$RINGBACK" script --json "$1" | jq -r --argjson tid "$(info_json "$1" .trigger.tid)" '
		select(.user_stack and .tid == $tid) | .user_stack.chain[] | .ip[2:] + " " + (.function // "?")' | same_names
}

theirs() {
	gdb -batch -nx -ex 'set debuginfod enabled off' -x "$sources/frames.py" "$1" "$2" 2>/dev/null |
		sed -n 's/^frame //p' | same_names
}

core_in() {
	find "$1" -maxdepth 1 -name 'core*' | head -n 1
}

# compare NAME PROGRAM DIR [MOST [LEAST]]: compares the last dump with the core in DIR. MOST:
# compare only so many frames, of a stack that is deeper than the copy. LEAST: frames that the dump
# must have
compare() {
	wait_for 30 has_dumps 1
	rec_stop
	ours "$(last)" >"$work/ours"
	theirs "$2" "$(core_in "$3")" >"$work/all"
	head -n "${4:-100000}" "$work/all" >"$work/theirs"
	[ -z "${4-}" ] || head -n "$4" <"$work/ours" >"$work/cut"
	[ -z "${4-}" ] || mv "$work/cut" "$work/ours"
	echo "# $1: $(wc -l <"$work/ours") frames, $(grep -vc ' ?$' "$work/ours") with a name"
	check "$1: there is a stack" test "$(wc -l <"$work/ours")" -ge "${5:-4}"
	check "$1: each frame is gdb's" diff "$work/theirs" "$work/ours"
	rm -f "$3"/core*
}

# crashed NAME PROGRAM ARG...: crashes in $work/cwd, where the core stays
crashed() {
	mkdir -p "$work/cwd"
	# shellcheck disable=SC2086 # a list of words
	rec_start $quiet -T "crash:$(basename "$2" | head -c 15)"
	{ (cd "$work/cwd" && ulimit -c unlimited && exec "${@:2}") >/dev/null 2>&1; } 2>/dev/null
}

check "the C++ program builds" g++ -O2 -o "$work/shop" "$sources/shop.cpp"
strip -o "$work/rb-shop" "$work/shop"
crashed cxx "$work/rb-shop"
compare "stripped C++" "$work/rb-shop" "$work/cwd"
crashed cxx "$work/rb-shop" throw
compare "stripped C++, an exception that nobody catches" "$work/rb-shop" "$work/cwd" "" 10
check "a static program builds" gcc -O2 -g -static -I"$PWD" -o "$work/rb-static" "$PWD/tests/load/load_crash.c"
crashed static "$work/rb-static" segv rb-static
compare "static" "$work/rb-static" "$work/cwd"
crashed static "$work/rb-static" abort rb-static
compare "static, abort" "$work/rb-static" "$work/cwd"
crashed static "$work/rb-static" threads rb-static
compare "static, one of two threads" "$work/rb-static" "$work/cwd"
# The stack pointer is outside the stack, so perf copies nothing.
crashed static "$work/rb-static" deep rb-static
compare "static, a recursion without end: the innermost" "$work/rb-static" "$work/cwd" 1 1

# redis-server: crashes by its own command, and by a signal while it serves
redis() {
	mkdir -p "$work/cwd"
	# shellcheck disable=SC2086 # a list of words
	rec_start $quiet -T crash:redis-server
	(cd "$work/cwd" && ulimit -c unlimited && exec redis-server --port 0 --unixsocket "$work/redis" --save '' --dir "$work/cwd" \
		--crash-log-enabled no --enable-debug-command yes) >/dev/null 2>&1 &
	bg_pid=$!
	wait_for 20 redis-cli -s "$work/redis" ping >/dev/null
}
redis
redis-cli -s "$work/redis" debug segfault >/dev/null 2>&1
wait "$bg_pid" 2>/dev/null
compare "redis-server, DEBUG SEGFAULT" "$(command -v redis-server)" "$work/cwd"
verdict=$("$RINGBACK" why "$(last)")
check "why says which signal in which function" grep -q '^redis-server .* was killed by SIGSEGV in debugCommand' <(echo "$verdict")
redis
kill -SEGV "$bg_pid"
wait "$bg_pid" 2>/dev/null
compare "redis-server, kill -SEGV" "$(command -v redis-server)" "$work/cwd"

mkdir -p "$work/cwd/logs"
cat >"$work/nginx.conf" <<END
daemon off;
user root;
worker_processes 1;
worker_rlimit_core 1g;
working_directory $work/cwd;
pid $work/nginx.pid;
error_log $work/nginx.log;
events { }
http { access_log off; server { listen unix:$work/nginx.sock; location / { return 200; } } }
END
# shellcheck disable=SC2086 # a list of words
rec_start $quiet -T crash:nginx
in_background nginx -p "$work/cwd" -e "$work/nginx.log" -c "$work/nginx.conf"
master=$bg_pid
wait_for 20 pgrep -P "$master" >/dev/null
wait_for 20 test -S "$work/nginx.sock"
sleep 0.3
kill -SEGV "$(pgrep -P "$master")"
wait_for 20 grep -q 'exited on signal 11' "$work/nginx.log"
kill "$master"
wait "$master" 2>/dev/null
compare "nginx worker" "$(command -v nginx)" "$work/cwd"
tap_end

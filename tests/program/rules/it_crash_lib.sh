#!/bin/bash
# SPDX-License-Identifier: MIT
#
# libringback-crash.so: in whatever state a program crashes, the library tells the recorder, a dump
# is made with the true stack, the program's own handlers run, and it ends by its signal at once
# (for times: make bench BENCH=crash_lib). Each way runs 20 times with all CPUs busy. Does not run
# with the sanitizers: a library loaded before the program interferes with the sanitizer's own
# handlers.
# TIMEOUT: 300
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/helpers/crashes.sh

only_root "crashes are seen" "this takes root"

library=$RINGBACK_BUILD/libringback-crash.so
crash=$loads/load_crash
hard=$loads/load_crash_lib
times=20
export RINGBACK_TELL=$work/run/default.tell
quiet="-a -e cgroup:cgroup_mkdir -m 64K"

# with COMMAND...: runs it with the library loaded, no core file
with() {
	(ulimit -c 0 && exec env LD_PRELOAD="$library" "$@") 2>/dev/null
}

# run COUNT COMMAND...: signals and times of all runs in $work/runs (load_wait)
run() {
	"$loads/load_wait" "$1" env LD_PRELOAD="$library" "${@:2}" >"$work/runs"
}

# functions: the backtrace that the process found itself, "crash middle outer main ..."
functions() {
	"$RINGBACK" info --json "$1" | jq -r '[.trigger.saw[] | select(startswith("backtrace")) | sub("^[^=]*="; "") |
		split(" < ")[] | sub("(\\.cold)?\\+0x.*"; "")] | join(" ")'
}

# stack: the same, unwound from the stack in the dump. Aliases of functions in the C library begin
# with __GI_.
stack() {
	"$RINGBACK" script --json "$1" | jq -r --argjson tid "$(info_json "$1" .trigger.tid)" '
		[select(.user_stack and .tid == $tid) | .user_stack.chain[] | (.function // "?") | sub("\\.cold$"; "") |
		sub("^__GI_*"; "")] | join(" ")' | head -n 1
}

# median, most FILE: of the times in FILE
median() {
	awk '{ print $2 }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

most() {
	awk '{ print $2 }' "$1" | sort -n | tail -n 1
}

check "the library shows nothing but what it stands in for" diff <(printf '%s\n' pthread_create sigaction signal) \
	<(nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort)
check "the library needs the C library alone" test "$(readelf -d "$library" | grep -c NEEDED)" = 1

# ---- without a recorder: the same behaviour as without the library ----

for way in "segv 11" "fpe 8" "ill 4" "trap 5" "abort 6" "queue 11" "deep 11"; do
	read -r how signal <<<"$way"
	run 2 "$crash" "$how"
	equal "without a recorder, $how: ends by $signal" "$signal $signal" "$(awk '{ print $1 }' "$work/runs" | xargs)"
	check "without a recorder, $how: at once" test "$(most "$work/runs")" -lt 500000
done
for how in own altstack altdeep; do
	with "$hard" $how >"$work/said"
	check "without a recorder, a handler runs: $how" grep -q 'own handler' "$work/said"
done

# ---- a dump of each way, and its stack ----

echo 'void there(void);void there(void){}' | gcc -shared -fPIC -x c -o "$work/there.so" -
mkdir "$work/empty"

# like TEXT PATTERN STRING
like() {
	if [[ " $3 " =~ \ $2\  ]]; then ok "$1"; else not_ok "$1" "$3"; fi
}

# one HOW SIGNAL FUNCTIONS [ARG]: the stack has FUNCTIONS, a pattern, in a row; c:HOW runs
# load_crash. Where the process can't read names, as with malloc()'s lock held or in another root
# directory, it sends addresses.
one() {
	local how=$1 signal=$2 functions=$3 program=$hard inside=$3

	[ "$how" = "${how#c:}" ] || program=$crash
	# shellcheck disable=SC2086 # a list of words
	rec_start $quiet -T 'crash:load_crash*;cooldown=0'
	run 1 "$program" "${how#c:}" "${@:4}"
	check "$how: a dump" wait_for 20 has_dumps 1
	equal "$how: ends by its signal" "$signal" "$(awk '{ print $1 }' "$work/runs")"
	equal "$how: which the rule saw" "SIG$(kill -l "$signal")" "$(saw signal)"
	rec_stop
	equal "$how: told by itself, and one dump, though its signal took effect then" "1 1" "$(dumps) $(saw told_by_pid | wc -l)"
	[ -n "$functions" ] || return
	case $how in
	malloc | top | away) inside='(0x[0-9a-f]+ ){6,}.*' ;;
	esac
	like "$how: the callers found in the process" "$inside" "$(functions "$(last)")"
	like "$how: the callers found in the dump" "$functions" "$(stack "$(last)")"
}

one c:segv 11 'crash middle outer main'
one c:fpe 8 'crash middle outer main'
one c:ill 4 'crash middle outer main'
one c:trap 5 'crash middle outer main'
one c:abort 6 'abort crash middle outer main'
one c:deep 11 'deep deep deep'
one malloc 11 'heap crash middle outer main'
one top 6 'abort .* heap crash middle outer main'
one mutex 11 'crash middle outer main'
one loader 11 'crash middle outer in_loader dl_iterate_phdr main'
one loader2 11 ''
one handler 11 'crash middle outer on_usr1 .* main'
one deep 11 'deep deep deep'
one own 11 'crash middle outer main'
one altstack 11 'crash middle outer main'
one altdeep 11 'deep deep deep'
one altonly 11 'crash middle outer main'
one plain 11 'crash middle outer main'
one restore 11 'crash middle outer main'
one child 11 'crash middle outer child main'
one away 11 'crash middle outer main' "$work/empty"
one closed 11 'crash middle outer main'
one gone 11 '' "$work/there.so"

# ---- a recorder without root: may not watch signals, but hears programs with the library ----

chmod 711 "$work"
mkdir -m 755 "$work/bin"
mkdir -m 700 "$work/theirs" "$work/theirs/run"
cp "$RINGBACK" "$library" "$hard" "$work/bin"
chown -R 65534 "$work/theirs"
# theirs HOW: a recorder run by nobody, and its program that crashes
theirs() {
	: >"$work/out"
	RINGBACK_RUNTIME_DIR=$work/theirs/run as_nobody "$work/bin/ringback" record --config /dev/null --memory 0 -o "$work/theirs" -e cpu-clock/freq=1/ \
		-T 'crash:load_crash*' -- env LD_PRELOAD="$work/bin/libringback-crash.so" RINGBACK_TELL="$work/theirs/run/default.tell" \
		"$work/bin/load_crash_lib" "$1" 2>"$work/err" </dev/null | grep rbd >"$work/out"
}
theirs own
check "not root: it says what it can see" grep -q 'only programs with libringback-crash.so are seen: ' "$work/err"
equal "not root: a dump" 1 "$(dumps)"
equal "not root: of whom" "SIGSEGV 65534" "$(saw signal) $(info_json "$(last)" .trigger.uid)"
like "not root: the callers found in the process" 'crash middle outer main' "$(functions "$(last)")"
like "not root: the callers found in the dump" 'crash middle outer main' "$(stack "$(last)")"
# stack_bytes: size of the stack copy
stack_bytes() {
	"$RINGBACK" script --json "$(last)" | jq 'select(.user_stack and .event == "crash:thread") | .user_stack.bytes'
}
check "not root: with its stack" test "$(stack_bytes)" -gt 3072
theirs private
equal "not root, of one that may not be looked into: a dump" 1 "$(dumps)"
check "with its stack" test "$(stack_bytes)" -gt 3072
like "and in it the callers" 'crash middle outer main' "$(stack "$(last)")"

# ---- several crashes at once; faults that a program survives ----

# shellcheck disable=SC2086 # a list of words
rec_start $quiet --symbols off -T 'crash:load_crash*;cooldown=0'
run 5 "$crash" threads
equal "two threads at once: each ends by its signal" "11 11 11 11 11" "$(awk '{ print $1 }' "$work/runs" | xargs)"
run 5 "$hard" threads
empty "eight threads at once, by two signals: ends by one of them" "$(awk '$1 != 6 && $1 != 11' "$work/runs")"
check "all were told" wait_for 10 has_hits 10
equal "each once" 10 "$(hits)"
run 1 "$hard" jump
equal "a program that lives on with its faults does" 0 "$(awk '{ print $1 }' "$work/runs")"
equal "and tells of the first" 11 "$(hits)"
rec_stop

# ---- servers: one that reports crashes itself, one with an unprivileged worker ----

# shellcheck disable=SC2086 # a list of words
rec_start $quiet -T 'crash:redis-server;cooldown=0'
in_background env LD_PRELOAD="$library" redis-server --port 0 --unixsocket "$work/redis" --save '' --dir "$work" \
	--logfile "$work/redis.log" --enable-debug-command yes
wait_for 20 redis-cli -s "$work/redis" ping >/dev/null
redis-cli -s "$work/redis" debug segfault >/dev/null 2>&1
wait "$bg_pid" 2>/dev/null
equal "redis-server ends by SIGSEGV" 139 $?
check "redis-server: a dump" wait_for 20 has_dumps 1
check "its own report is there" grep -q 'REDIS BUG REPORT END' "$work/redis.log"
rec_stop
equal "one dump" 1 "$(dumps)"
like "the stack is where it crashed, not its handler's" 'debugCommand call processCommand .* main' "$(stack "$(last)")"

cat >"$work/nginx.conf" <<END
daemon off;
user nobody nogroup;
worker_processes 1;
pid $work/nginx.pid;
events { }
http { access_log off; server { listen unix:$work/nginx.sock; } }
END
chmod 711 "$work"
# shellcheck disable=SC2086 # a list of words
rec_start $quiet -T 'crash:nginx;cooldown=0'
in_background env LD_PRELOAD="$library" nginx -p "$work" -e "$work/nginx.log" -c "$work/nginx.conf"
master=$bg_pid
wait_for 20 pgrep -P "$master" -u nobody >/dev/null
sleep 0.3
kill -SEGV "$(pgrep -P "$master")"
check "nginx: the worker ends by SIGSEGV" wait_for 20 grep -q 'exited on signal 11' "$work/nginx.log"
check "nginx: a dump" wait_for 20 has_dumps 1
kill "$master"
wait "$master" 2>/dev/null
rec_stop
equal "nginx: told by the worker, by its master's connection" 65534 "$(info_json "$(last)" .trigger.uid)"

# ---- 20 runs each with all CPUs busy; times from the fault to the exit status at the parent ----

hogs=()
for ((i = 0; i < $(nproc); i++)); do
	in_background sh -c 'while :; do :; done'
	hogs+=("$bg_pid")
done
# shellcheck disable=SC2086 # a list of words
rec_start $quiet --symbols off -T 'crash:load_crash*;cooldown=1h'
ways=0
: >"$work/times"
for way in "malloc 11" "top 6" "mutex 11" "loader 11" "loader2 11" "handler 11" "deep 11" "own 11" "child 11" "gone 11" "c:deep 11" \
	"c:threads 11" "away 11"; do
	read -r how signal <<<"$way"
	program=$hard
	[ "$how" = "${how#c:}" ] || program=$crash
	arg=$work/empty
	[ "$how" != gone ] || arg=$work/there.so
	[ "$program" = "$hard" ] || arg=load_crash
	run $times "$program" "${how#c:}" "$arg" 2>/dev/null
	ways=$((ways + 1))
	cat "$work/runs" >>"$work/times"
	equal "$how: $times times by its signal" "$times" "$(grep -c "^$signal " "$work/runs")"
	echo "# $how: from the fault to its end: median $(median "$work/runs") us, at most $(most "$work/runs") us"
	# Far above the usual time, and far below a wait for a lock.
	check "$how: nothing hangs" test "$(most "$work/runs")" -lt 2000000
done
kill "${hogs[@]}"
nr=$((ways * times + times)) # of child each twice
check "all were told" wait_for 20 has_hits $nr
equal "each once" $nr "$(hits)"
equal "one dump of them" 1 "$(dumps)"
rec_stop
echo "# from the fault to the end, of all: median $(median "$work/times") us, at most $(most "$work/times") us"
tap_end

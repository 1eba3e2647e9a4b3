#!/bin/bash
# SPDX-License-Identifier: MIT
# SETTING: kernel.perf_event_paranoid
# SANITIZE
#
# Runtime errors (it_usage.sh has mistakes on the command line). Each gives one sentence that names
# the error, a hint, the exit code in the manual, and nothing on stdout. No crash, no hang.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# run COMMAND...: sets $code; output in $work/o, $work/e
run() {
	timeout -k 5 100 "$@" >"$work/o" 2>"$work/e" </dev/null
	code=$?
}

# as_promised NAME CODE PATTERN HINT: checks the last run. One sentence: one line that begins with
# "ringback:" and is no warning. HINT may be empty where the program has no advice.
as_promised() {
	local name=$1 want=$2 pattern=$3 hint=$4 wrong=

	[ "$code" = "$want" ] || wrong="exit code $code, not $want"
	[ ! -s "$work/o" ] || wrong="$wrong; something on stdout"
	grep -qE -- "^ringback: .*$pattern" "$work/e" || wrong="$wrong; no '$pattern'"
	[ "$(grep '^ringback: ' "$work/e" | grep -vc '^ringback: warning: ')" = 1 ] || wrong="$wrong; not one sentence"
	[ -z "$hint" ] || grep -qE -- "$hint" <(grep -v '^ringback: ' "$work/e") || wrong="$wrong; no hint '$hint'"
	if [ -z "$wrong" ]; then
		ok "$name"
	else
		not_ok "$name" "${wrong#; }: $(head -c 2000 "$work/e")"
	fi
}

# fails NAME CODE PATTERN HINT COMMAND...
fails() {
	local promise=("$1" "$2" "$3" "$4")

	shift 4
	run "$@"
	as_promised "${promise[@]}"
}

# record NAME PATTERN HINT ARG...: fails with 1
record() {
	local promise=("$1" 1 "$2" "$3")

	shift 3
	run "$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" "$@"
	as_promised "${promise[@]}"
}

# --- events ---
record "a typo in a tracepoint gets the closest name" "no event 'sched_swich'" 'did you mean sched:sched_switch' -e sched:sched_swich
record "a typo in its system too" "no tracepoint system 'shced'" 'did you mean sched:sched_switch' -e shced:sched_switch
record "a typo in a software event" "no event 'cpu-clok'" 'did you mean cpu-clock' -e cpu-clok
record "an unknown system" "no tracepoint system 'nosuchsystem'" 'module that is not loaded' -e nosuchsystem:nosuchevent
record "a glob that matches nothing" "matches 'zzz\\*'" "perf list" -e 'sched:zzz*'
record "the event that is wrong is found in a list" "event 'sched:sched_swich' \\(at character 11\\)" 'did you mean' -e cpu-clock,sched:sched_swich
record "a filter on a field that is not there" '\[sgi==11\] of signal:signal_deliver' 'common_pid, sig, errno, code' -e 'signal:signal_deliver[sgi==11]'
record "a filter that is cut" '\[sig==\] of signal:signal_deliver' 'common_pid, sig' -e 'signal:signal_deliver[sig==]'
record "a filter that is not closed" "'\\[' is not closed" 'signal_deliver\[sig==11\]' -e 'signal:signal_deliver[sig==11'
record "a filter on what is no tracepoint" "can't have a filter" 'for tracepoints' -e 'page-faults[a==1]'
record "an unknown term" "no term 'frequ'" 'freq=HZ' -e cpu-clock/frequ=99/
record "a term that is no number" "'abc' is not a number" 'freq=99' -e cpu-clock/freq=abc/
record "freq with period" "can't both be given" 'freq=HZ' -e cpu-clock/freq=9,period=9/
record "terms that are not closed" "'/' before the terms is not closed" 'cpu-clock/freq=99/' -e cpu-clock/freq=99
record "a frequency above the kernel's limit" 'perf_event_max_sample_rate=[0-9]+' 'sudo sysctl' -e cpu-clock/freq=100000000/
record "an unknown PMU" "no PMU 'softwear'" 'did you mean software' -e softwear/config=2/
record "an unknown term of a PMU" "PMU software has no term or event 'evnt'" 'it knows: ' -e software/evnt=1/
record "a PMU's term that is no number" "'x' is not a number" '0x3c' -e software/config=x/
record "an unknown modifier" "'x' in ':x' is no modifier" 'u: user side' -e page-faults:x
record "a tracepoint on the user side" "':u' would leave nothing" 'leave out' -e sched:sched_switch:u
record "a comma too many" 'missing at character 20' 'one comma' -e sched:sched_switch,
record "an event name of 100,000 characters" 'no event' 'hint' -e "$(printf '%0100000d' 0 | tr 0 a)"

probe=$(realpath "$loads/load_probe")
record "a uprobe on an unknown function gets the closest" "no function 'probe_meny'" 'did you mean probe_many' -e "uprobe:$probe:probe_meny"
record "on nothing like it" "no function 'zzzzzz'" 'nm -C' -e "uprobe:$probe:zzzzzz"
record "behind the function's end" 'is behind the end of probe_few' 'has [0-9]+ bytes' -e "uprobe:$probe:probe_few+0x10000"
record "at an offset that is none" "'x' is not an offset" '0x1a' -e "uprobe:$probe:probe_few+x"
record "at an offset outside of the file" 'offset 0xfffffffff is not in its file' 'readelf' -e "uprobe:$probe:0xfffffffff"
record "in a file that is not there" "can't find the file '/no/such'" 'type -a such' -e uprobe:/no/such:main
record "in a file without its path" "can't find the file 'nosuch'" 'the whole path' -e uprobe:nosuch:main
record "in a file that is no program" 'is not an ELF file' 'file -L' -e uprobe:/etc/passwd:main
record "in a directory" 'is not an ELF file' 'file -L' -e uprobe:/usr:main
record "in a device" 'is not an ELF file' 'file -L' -e uprobe:/dev/zero:main
mkfifo "$work/fifo"
record "in a FIFO, which is not waited for" 'is not an ELF file' 'file -L' -e "uprobe:$work/fifo:main"
record "without a function" 'names no file and function' 'uprobe:PATH:SYMBOL' -e uprobe:/bin/sh
record "a uretprobe within a function" "goes to a function's start" 'uretprobe:.*:probe_few' -e "uretprobe:$probe:probe_few+1"

# --- rules that parse but can't be watched: errors of the command line all the same
# rule NAME PATTERN HINT ARG...
rule() {
	fails "$1" 2 "$2" "$3" "$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -e dummy "${@:4}"
}

rule "a rule for a signal that nobody can wait for" 'SIGKILL' '\^' -T signal:KILL
rule "a rule for the signal that needs none" "'SIGUSR2' already waits for that signal" 'needs no rule' -T signal:USR2
rule "the same rule twice" "two rules have the name 'signal-USR1'" 'name=NAME' -T signal:USR1 -T signal:USR1
rule "a rule of an unknown kind" "no trigger source 'sginal'" 'signal:NAME' -T sginal:USR1
rule "an empty rule" 'the trigger rule is empty' 'such as signal:USR1' -T ''

# --- targets ---
nobody=$(($(cat /proc/sys/kernel/pid_max) - 1))
record "no such process" "no process $nobody" 'ps -eLf' -p "$nobody" -e dummy
record "no such thread" "no thread $nobody" 'ps -eLf' -t "$nobody" -e dummy
record "one of several processes is not there" "no process $nobody" 'ps -eLf' -p $$,"$nobody" -e dummy
record "a CPU that is not there" 'CPU 4000 is not online' 'cpu/online' -C 0,4000 -e dummy
record "a cgroup that is not there" "cgroup" '[a-z]' --cgroup /no/such/cgroup -e dummy
run "$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -e dummy -- /no/such/command
check "a command that is not there" grep -q "^ringback: .*/no/such/command.*No such file" "$work/e"
record "no such process, however large its number" "no process 99999999" 'ps -eLf' -p 99999999 -e dummy
for missing in exit:99999999 'rss:99999999>2G' 'event:sched:sched_swich' "uprobe:$probe:probe_meny" 'psi:memory:some:/no/such>150ms/1s' \
	"file:$work/nowhere/log~x"; do
	record "what a rule is about is not there: ${missing%%:*}" . . -T "$missing" -e dummy
done
check "no dump came of all this" test -z "$(ls "$work/dumps")"

# --- directories for dumps ---
touch "$work/file"
record "-o is a file" "$work/file is not a directory" 'DIR' -o "$work/file" -e dummy
record "-o lies in a file" "$work/file/in is not a directory" 'DIR' -o "$work/file/in" -e dummy
record "-o's parent is not there" "can't make the directory $work/a/b" "mkdir -p '$work/a/b'" -o "$work/a/b" -e dummy
rec_start -n twice -a -e dummy
record "a name that is in use" "'twice' is running already \\(pid $rec_pid\\)" '-n NAME' -n twice -a -e dummy
fails "ringback trigger for another" 1 "no recorder named 'other'" 'running: twice' "$RINGBACK" trigger -n other
check "the first goes on" "$RINGBACK" status -n twice
rec_stop
fails "ringback trigger where none runs" 1 'no recorder named' 'ringback record' "$RINGBACK" trigger
fails "ringback status where none runs" 1 'no recorder named' 'ringback record' "$RINGBACK" status
fails "a name that can be none" 2 "'a/b' can't be a recorder's name" 'letters' "$RINGBACK" trigger -n a/b

# --- configuration ---
# config NAME PATTERN HINT TEXT
config() {
	printf '%b' "$4" >"$work/conf"
	fails "$1" 2 "$2" "$3" "$RINGBACK" record --config "$work/conf" -o "$work/dumps"
}

config "a value out of range has its line" "$work/conf:3: banks: 3 is out of range" 'from 1 to 2' '[record]\n\nbanks = 3\n'
config "a value of the wrong kind has its line" "$work/conf:2: post: '1 s' is not a time" '250us' '[record]\npost = 1 s\n'
config "a key outside of a section" "$work/conf:1: " '\[record\]' 'banks = 2\n'
config "a channel without events" "$work/conf:1: channel 'x' has no events" 'such as: events = ' '[channel x]\nsize = 1M\n'
config "a trigger without a rule" "$work/conf:3: trigger 't' has no rule" 'such as: rule = ' '[record]\n\n[trigger t]\n'
config "a section that is unknown, with nothing in it" "$work/conf:2: there is no section \\[recrod\\]" 'did you mean record' '\n[recrod]\n'
config "a rule that is wrong has line and column" "$work/conf:4: trigger rule, column 13" '\^' '[record]\n\n[trigger t]\nrule = signal:USR1;cooldwn=1s\n'
config "an option that is for the command line only" "$work/conf:2: config can't be set" '--config' '[record]\nconfig = /x\n'
for file in "$work" /dev/zero "$work/fifo"; do
	run "$RINGBACK" record --config "$file" -o "$work/dumps"
	check "$(basename "$file") as configuration is refused" test "$code $(grep -c "^ringback: $file is not a file" "$work/e")" = "2 1"
done

# --- a process that ends while the recorder starts ---
gone() {
	! kill -0 "$1"
}

# start ARG...: a recorder in the background, $recorder
start() {
	: >"$work/e"
	"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -e dummy "$@" >"$work/o" 2>"$work/e" </dev/null &
	recorder=$!
}

# The longest time of three starts, in us.
start_us=0
for _ in 1 2 3; do
	began=${EPOCHREALTIME/./}
	start -p $$
	end=$((SECONDS + 20))
	until grep -q '^ringback: recording' "$work/e" || [ $SECONDS -ge $end ]; do :; done
	took=$((${EPOCHREALTIME/./} - began))
	[ $took -le $start_us ] || start_us=$took
	kill -TERM "$recorder"
	wait "$recorder"
done
echo "# it starts within $start_us us"

# in_start I N: seconds to the I-th of N moments between the beginning of a start and twice its time
in_start() {
	local us=$(($1 * 2 * start_us / $2))

	printf '%d.%06d' $((us / 1000000)) $((us % 1000000))
}

# The target is recorded, or reported to have ended.
hung='' unclear='' recorded=0 ended=0
for ((i = 0; i < 24; i++)); do
	sleep "$(in_start $i 24)" &
	target=$!
	kind=-p
	[ $((i % 4)) != 3 ] || kind=-t
	start $kind $target
	# shellcheck disable=SC2016
	wait_for 15 eval 'grep -q "^ringback: recording" "$work/e" || gone $recorder' || hung="$hung $i"
	kill -TERM "$recorder" 2>/dev/null
	wait_for 15 gone "$recorder" || { hung="$hung $i" && kill -KILL "$recorder"; }
	wait "$recorder"
	code=$?
	if [ $code = 0 ] && grep -q '^ringback: recording' "$work/e"; then
		recorded=$((recorded + 1))
	elif [ $code = 1 ] && grep -qE "^ringback: .*(no (process|thread) $target|ended)" "$work/e"; then
		ended=$((ended + 1))
	else
		unclear="$unclear after $(in_start $i 24) s: exit code $code: $(cat "$work/e")"
	fi
	wait $target 2>/dev/null
done
echo "# $recorded recorded, $ended had ended"
empty "a process that ends at any moment of the start never hangs it" "$hung"
empty "it is recorded, or said to have ended" "$unclear"

# The recorder is stopped at a moment of its start.
unclear=''
for ((i = 1; i <= 16; i++)); do
	timeout --preserve-status -k 15 "$(in_start $i 16)" "$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -a -e dummy \
		>"$work/o" 2>"$work/e" </dev/null
	code=$?
	[ $code = 0 ] || [ $code = 143 ] || unclear="$unclear after $(in_start $i 16) s: exit code $code: $(cat "$work/e")"
done
empty "SIGTERM at any moment of the start stops it" "$unclear"

# --- closed or full output ---
for where in '>&-' '>/dev/full' '2>&-' '2>/dev/full' '<&- >&- 2>&-'; do
	rm -f "$work"/dumps/*
	eval "timeout -k 5 100 \"$RINGBACK\" record --config /dev/null --memory 0 -o \"$work/dumps\" --dump-on-exit -a -e sched:sched_switch -- sleep 0.1 >\"$work/o\" 2>\"$work/e\" $where"
	code=$?
	path=$(ls "$work"/dumps/*.rbd)
	check "record $where ends by itself, with $code" test $code -le 1
	check "and its dump is whole" "$RINGBACK" check "$path"
done

# --- files that are damaged or no dumps ---
rec_start -a -m 1M --preset syscalls -e sched:sched_switch
"$loads/load_switch" 0.2 >"$work/load"
cp "$(dump_now)" "$work/whole.rbd"
rec_stop
size=$(stat -c %s "$work/whole.rbd")
head -c $((size - 100)) "$work/whole.rbd" >"$work/cut.rbd"
cp "$work/cut.rbd" "$work/x.rbd.part"
head -c 20 "$work/whole.rbd" >"$work/begun"
head -c $size /dev/zero >"$work/zeros"
: >"$work/empty"
for command in info script check; do
	fails "$command: a file that is not there" 1 "cannot open '$work/none': No such file" 'record -o DIR' "$RINGBACK" $command "$work/none"
	fails "$command: a directory" 1 'is a directory' '\.rbd' "$RINGBACK" $command "$work"
	fails "$command: a FIFO, which is not waited for" 1 'not a regular file' 'copy it' "$RINGBACK" $command "$work/fifo"
	fails "$command: a device without end" 1 'not a regular file' 'copy it' "$RINGBACK" $command /dev/zero
	fails "$command: an empty file" 3 'is empty' '' "$RINGBACK" $command "$work/empty"
	fails "$command: a text" 3 'is not a ringback dump' '\.rbd' "$RINGBACK" $command /etc/passwd
	fails "$command: zeros" 3 'is not a ringback dump' '\.rbd' "$RINGBACK" $command "$work/zeros"
	fails "$command: a header that was just begun" 3 'ends within the first' '' "$RINGBACK" $command "$work/begun"
	for file in cut.rbd x.rbd.part; do
		run "$RINGBACK" $command "$work/$file"
		check "$command: $file is told to be damaged, and how to rescue it" test \
			"$code $(grep -c "^ringback: .*$work/$file" "$work/e") $(grep -c "hint: .*check $work/$file --salvage" "$work/e")" = "3 1 1"
		check "$command: what is whole of $file is printed" test -s "$work/o"
	done
done
check "script prints all records of the one that lacks its end" test "$("$RINGBACK" script "$work/cut.rbd" 2>/dev/null | cksum)" = \
	"$("$RINGBACK" script "$work/whole.rbd" | cksum)"
fails "script: an event that is not in the dump" 1 "matches 'nosuch\\*'" 'it has: .*sched:sched_switch' "$RINGBACK" script --event 'nosuch*' "$work/whole.rbd"
fails "script: a time that is none" 2 'from: ' 'usage' "$RINGBACK" script --from yesterday "$work/whole.rbd"
fails "script: a pid that is none" 2 'pid: ' 'usage' "$RINGBACK" script --pid x "$work/whole.rbd"
fails "script: a time before its beginning" 2 'from is after' 'usage' "$RINGBACK" script --from +1s --to -1s "$work/whole.rbd"
run "$RINGBACK" check "$work/x.rbd.part" --salvage /no/such/file
check "salvage to where nothing can be" test "$code $(grep -c "^ringback: /no/such/file can't be written: No such file" "$work/e")" = "1 1"
fails "what a terminal would obey does not reach it" 1 "\\\\x1b" 'record -o' "$RINGBACK" info "$work/$(printf '\033[2J')"

# --- output that can't be written ---
for how in "" --json; do
	"$RINGBACK" script $how "$work/whole.rbd" 2>"$work/e" | head -n 1 >"$work/o"
	code=${PIPESTATUS[0]}
	check "script $how | head: nothing is said" test ! -s "$work/e"
	check "script $how | head: exit code $code" test "$code" = 141 -o "$code" = 0
	(
		trap '' PIPE
		"$RINGBACK" script $how "$work/whole.rbd" 2>"$work/e" | head -n 1 >"$work/o"
		exit "${PIPESTATUS[0]}"
	)
	code=$?
	check "script $how | head without SIGPIPE: exit code $code, nothing is said" test "$code$(cat "$work/e")" = 0
done
for command in script 'script --json' info 'info --json' check doctor --help 'record --help' --version; do
	file="$work/whole.rbd"
	case $command in *-help | *version | doctor) file= ;; esac
	for full in '>/dev/full' '>&-'; do
		eval "timeout 100 \"$RINGBACK\" $command $file $full 2>\"$work/e\""
		code=$?
		check "$command $full: exit code 1, and why" test "$code $(grep -c "^ringback: the output can't be written: " "$work/e")" = "1 1"
	done
done

# --- little memory ---
# The sanitizers need too much memory for this.
largest=64
[ "$RINGBACK" != "${RINGBACK_SAN-}" ] || largest=0
bad=''
for ((mib = 8; mib <= largest; mib += 4)); do
	for command in "record --config /dev/null --memory 0 -o $work/dumps --dump-on-exit -m 64K -a -e dummy -- true" "script $work/whole.rbd" \
		"info $work/whole.rbd" "check $work/cut.rbd"; do
		# shellcheck disable=SC2086
		run prlimit --as=$((mib << 20)) "$RINGBACK" $command
		case $code in
		0 | 3) ;;
		1) grep -q '^ringback: ' "$work/e" || bad="$bad ${command%% *} with $mib MiB says nothing;" ;;
		127) grep -q 'shared librar' "$work/e" || bad="$bad ${command%% *} with $mib MiB: $code;" ;;
		*) bad="$bad ${command%% *} with $mib MiB: exit code $code: $(tail -n 1 "$work/e");" ;;
		esac
	done
done
empty "with 8 to 64 MiB of address space: done, or said why not" "$bad"

# --- without root ---
paranoid=/proc/sys/kernel/perf_event_paranoid
only_root "a user's errors" "only root can become another"
at_end+=("echo $(cat $paranoid) >$paranoid")
echo 2 >$paranoid
cp "$RINGBACK" "$probe" "$work"
mkdir "$work/user" "$work/user/run"
chown -R 65534:65534 "$work/user"
chmod 700 "$work/user/run"
chmod 755 "$work"

# user NAME PATTERN HINT ARG...: record fails with 1 for uid 65534
user() {
	local promise=("$1" 1 "$2" "$3")

	shift 3
	RINGBACK_RUNTIME_DIR=$work/user/run run setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
		"$work/ringback" "$@"
	as_promised "${promise[@]}"
}

mine=(record --config /dev/null --memory 0 -o "$work/user/dumps")
user "the whole system" 'perf_event_paranoid <= 0 \(it is 2\)' 'sysctl kernel.perf_event_paranoid=-1' "${mine[@]}" -a
user "a CPU" 'perf_event_paranoid <= 0 \(it is 2\)' 'sysctl' "${mine[@]}" -C 0
user "a cgroup" 'perf_event_paranoid <= 0 \(it is 2\)' 'sysctl' "${mine[@]}" --cgroup /
user "somebody else's process" 'no permission to trace process 1' 'as its user' "${mine[@]}" -p 1 -e cpu-clock
user "a tracepoint" "sched:sched_switch" 'run as root' "${mine[@]}" -e sched:sched_switch -- true
user "a uprobe" 'uprobes need CAP_PERFMON' 'setcap' "${mine[@]}" -e "uprobe:$work/load_probe:probe_few" -- true
user "the kernel side" 'perf_event_paranoid=2' 'append :u' "${mine[@]}" -e cpu-clock:k -- true
user "more memory than is allowed" 'perf_event_mlock_kb=[0-9]+' '-m' "${mine[@]}" -m 1G -e cpu-clock -- true
user_limited() { # NAME PATTERN HINT LIMIT ARG...
	local promise=("$1" 1 "$2" "$3") limit=$4

	shift 4
	RINGBACK_RUNTIME_DIR=$work/user/run run setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
		prlimit "$limit" "$work/ringback" "$@"
	as_promised "${promise[@]}"
}

user_limited "more descriptors than are allowed" 'RLIMIT_NOFILE is 40' 'ulimit -n 160' --nofile=40:40 "${mine[@]}" \
	-e cpu-clock,task-clock,page-faults,minor-faults,major-faults,context-switches,migrations,dummy -- true
user "a directory that is not his" "can't write into $work/dumps: permission denied" '-o DIR' record --config /dev/null --memory 0 -o "$work/dumps" -e cpu-clock -- true
user "a dump that is not his" "cannot open '$work/whole.rbd': Permission denied" 'sudo' info "$work/whole.rbd"
# The directory of root's recorders. It stays when they end, so it may or may not exist.
if mkdir -m 700 /run/ringback 2>/dev/null; then
	at_end+=("rmdir /run/ringback")
fi
user "a recorder that is not his" 'no recorder named' 'sudo' trigger
record "no such process, however large its number" "no process 99999999" 'ps -eLf' -p 99999999 -e dummy
for missing in exit:99999999 'rss:99999999>2G' 'event:sched:sched_swich' "uprobe:$probe:probe_meny" 'psi:memory:some:/no/such>150ms/1s' \
	"file:$work/nowhere/log~x"; do
	record "what a rule is about is not there: ${missing%%:*}" . . -T "$missing" -e dummy
done
check "no dump came of all this" test -z "$(ls "$work/user/dumps" 2>/dev/null)"
tap_end

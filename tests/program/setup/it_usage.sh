#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# Mistakes on the command line: the message names the mistake and says what to type; exit code 2,
# nothing on stdout, nothing recorded.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh

: "${RINGBACK:=build/ringback}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# misuse NAME PATTERN HINT ARGUMENT...
misuse() {
	local name=$1 pattern=$2 hint=$3 code

	shift 3
	timeout 100 "$RINGBACK" "$@" >"$work/out" 2>"$work/err" </dev/null
	code=$?
	if [ $code != 2 ]; then
		not_ok "$name" "exit code $code: $(cat "$work/err")"
	elif [ -s "$work/out" ]; then
		not_ok "$name" "on stdout: $(cat "$work/out")"
	elif ! grep -qE -- "$pattern" "$work/err" || ! grep -qE -- "$hint" "$work/err"; then
		not_ok "$name" "no '$pattern' or no '$hint' in: $(cat "$work/err")"
	else
		ok "$name"
	fi
}

# told NAME PATTERN ARGUMENT...: exit code 0, and PATTERN on stdout
told() {
	local name=$1 pattern=$2

	shift 2
	if "$RINGBACK" "$@" >"$work/out" 2>"$work/err" && grep -qE -- "$pattern" "$work/out" &&
		[ ! -s "$work/err" ]; then
		ok "$name"
	else
		not_ok "$name" "$(cat "$work/out" "$work/err")"
	fi
}

record() { # NAME PATTERN HINT ARGUMENT...
	local name=$1 pattern=$2 hint=$3

	shift 3
	misuse "$name" "$pattern" "$hint" record --config /dev/null --memory 0 -o "$work/dumps" "$@"
}

misuse "no command at all tells what there is" 'record' 'trigger'
misuse "an unknown command is named" "no command 'recrod'" 'record' recrod
told "--version" '^ringback [0-9]' --version
told "--help has the commands" 'ringback script' --help
told "record --help has the options" '--max-dumps N' record --help
for command in record trigger status info script check pin doctor; do
	told "$command --help tells how it is used" "^usage: ringback $command" "$command" --help
done

record "an unknown option gets the nearest" 'no option --trigegr' '--trigger' --trigegr x
record "an option without its value says what it wants" '-o needs a value' 'DIR' -o
record "a stray word is not taken for a command" "'ls' is not an option" '-- ls' ls
record "a kind of stack apart from -g" "'dwarf' is not an option" '-g=dwarf' -g dwarf
record "nothing after --" 'no command after --' '-- COMMAND' --
record "-a with -p" '-a and -p contradict' 'give one target' -a -p 1
record "-p with --cgroup" '-p and --cgroup contradict' 'give one target' -p 1 --cgroup x
record "-p with a command" '-p and -- COMMAND contradict' 'either' -p 1 -- true
record "no list of CPUs" "'x' is not a list of CPUs" '0-3,8' -C x
record "no list of processes" "'nginx' is not a list of process ids" 'pgrep' -p nginx
record "banks out of range" '3 is out of range' 'from 1 to 2' --banks 3
record "no CPU to make a dump on" '0 is out of range' 'from 1 to 64' --max-dump-cpus 0
record "no number of CPUs" 'all' 'number' --max-dump-cpus all
record "a way to compress that is not there" "'hihg' is not one of fast\|high" 'did you mean high' --compress hihg
record "no size" "'lots' is not a size" '512K' -m lots
record "a time without unit" "'5' is not a time" '250us' --post 5
record "an unknown preset gets the nearest" "no preset 'shed'" 'sched' --preset shed
record "two presets" 'there is a preset already: sched' '-e and --channel add' --preset sched --preset net
record "a channel without events" 'names no events' 'NAME:EVENT' --channel x
record "two channels of one name" "two channels named 'x'" 'name' --channel x:a:b --channel x:c:d
record "a rule that is none" '-T: ' 'signal' -T 'signal:USR1;nam=x'
misuse "a configuration that is not there" "$work/none" 'No such file' record --config "$work/none"

printf '[record]\n\npsot = 1s\n' >"$work/conf"
misuse "a mistake in the configuration has its line" "$work/conf:3: .*psot" 'did you mean post' \
	record --config "$work/conf"
check "nothing was made" test ! -e "$work/dumps"

if [ "$(id -u)" = 0 ]; then
	printf '[record]\n' >"$work/conf"
	chmod 666 "$work/conf"
	misuse "root reads no configuration that others may write" 'is writable by users other than root' 'go-w' \
		record --config "$work/conf"
else
	skip "root reads no configuration that others may write" "not root"
fi
misuse "so does an option of another command" 'no option --fokus' 'did you mean --focus' report --fokus=50ms x
misuse "an unknown command gets the nearest" "no command 'recrod'" "did you mean 'record'" recrod
misuse "help of an unknown command too" "no command 'rcord'" "did you mean 'record'" help rcord
misuse "one that is near to none" "no command 'xyzzy'" 'ringback --help' xyzzy
misuse "info without a dump" 'dump' 'ringback info' info
misuse "check without a dump" 'DUMP is missing' 'ringback check' check
misuse "script without a dump" 'dump' 'ringback script' script
tap_end

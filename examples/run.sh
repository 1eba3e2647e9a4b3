#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh NAME [RINGBACK]: an incident from its beginning to its explanation: compiles examples/NAME/NAME.c (or takes
# NAME.sh or NAME.py), starts a recorder as NAME/README.md says, runs the program, and explains the dump. The dump stays,
# in a directory that is printed. Exit 77: this machine cannot do it.
#
# RINGBACK_ASK: who asks for the dump: "program" (default), "outside" (ringback trigger, from a shell), "rule" (of the
# README's command with -T). RINGBACK_BESIDE: a kind of noise.sh that runs meanwhile. RINGBACK_RUN_DIR: the directory.
# RINGBACK_RUN_OPTIONS: more options of the recorder.
set -u
cd "$(dirname "$0")" || exit 1

name=${1:?which example? one of: $(echo */ | tr -d /)}
name=${name%/}
program=${2:-../build/ringback}
[ $# -gt 1 ] || [ -x "$program" ] || program=$(command -v ringback)
program=$(realpath "$program") || exit 1
dir=${RINGBACK_RUN_DIR:-$(mktemp -d "${TMPDIR:-/var/tmp}/ringback-$name.XXXXXX")}
recorder=
noise=

end() {
	[ -z "$noise" ] || kill "$noise" 2>/dev/null
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null
	wait
}
trap end EXIT
trap 'exit 130' INT TERM

# wait_until SECONDS COMMAND...: false when the time is up
wait_until() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# The README's command without its program, directory, quotes and "&".
asked=${RINGBACK_ASK:-program}
commands=$(sed -n "s,^    # ringback record \(.*\) &\$,\1,p" "$name/README.md" | sed 's,-o [^ ]*,,')
if [ "$asked" = rule ]; then
	commands=$(grep -e '-T ' <<<"$commands")
fi
read -ra options <<<"$commands"
[ ${#options[@]} -gt 0 ] || { echo "$name/README.md has no such command for the recorder" >&2; exit 1; }
options=("${options[@]//\'/}")
# More of them, such as larger rings where much else is going on.
read -ra more <<<"${RINGBACK_RUN_OPTIONS-}"

command=()
if [ -f "$name/$name.c" ]; then
	gcc -std=gnu11 -O1 -g -fno-omit-frame-pointer -D_GNU_SOURCE -pthread -o "$dir/$name" "$name/$name.c" || exit 1
	command=("$dir/$name")
elif [ -f "$name/$name.sh" ]; then
	command=(bash "$name/$name.sh")
elif [ -f "$name/$name.py" ]; then
	command=(python3 "$name/$name.py")
fi

export RINGBACK=$program RINGBACK_ASK=$asked RINGBACK_RUNTIME_DIR=${RINGBACK_RUNTIME_DIR:-$dir/run}
[ -d "$RINGBACK_RUNTIME_DIR" ] || mkdir -m 700 "$RINGBACK_RUNTIME_DIR" || exit 1
"$program" record --config /dev/null -o "$dir" "${options[@]}" "${more[@]}" >"$dir/paths" 2>"$dir/record.log" </dev/null &
recorder=$!
until grep -q '^ringback: recording' "$dir/record.log"; do
	kill -0 "$recorder" 2>/dev/null || { cat "$dir/record.log" >&2; exit 1; }
	sleep 0.05
done
if [ -n "${RINGBACK_BESIDE-}" ]; then
	mkdir -p "$dir/noise"
	./noise.sh "$RINGBACK_BESIDE" "$dir/noise" >/dev/null 2>&1 &
	noise=$!
	sleep 1
fi

# Incidents that write files need a real file system; that of the sources is one.
if [ ${#command[@]} -gt 0 ]; then
	"${command[@]}" "${RINGBACK_DISK_DIR:-$dir}" 2>"$dir/program.log" &
	run=$!
	case $asked in
	outside)
		wait_until 60 test -s "$dir/program.log" -o ! -d /proc/$run
		"$program" trigger --reason "$(tail -n 1 "$dir/program.log")" >/dev/null || exit 1
		;;
	rule)
		wait_until 60 test -s "$dir/paths" -o ! -d /proc/$run
		;;
	esac
	wait $run
	status=$?
	cat "$dir/program.log" >&2
	[ $status = 0 ] || exit $status
else
	sleep 2
	"$program" trigger --reason "nothing, I was only curious" || exit 1
fi
[ "$asked" != rule ] || wait_until 10 test -s "$dir/paths"
kill "$recorder"
wait "$recorder"
recorder=
dump=$(head -n 1 "$dir/paths")
[ -n "$dump" ] || { echo "there is no dump" >&2; exit 1; }
echo
echo "# ringback why $dump"
"$program" why "$dump"

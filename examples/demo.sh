#!/bin/bash
# SPDX-License-Identifier: MIT
#
# demo.sh RINGBACK: what ringback is for, in less than a minute, on this machine: records everything while
# make and gcc compile ringback itself, fires a trigger, and looks at what happened before. Called by `make
# demo`; leaves the dump and nothing else. The commands are shown as they can be typed in the source folder.
set -u
cd "$(dirname "$0")/.." || exit 1

program=${1:-build/ringback}
work=$(mktemp -d "${TMPDIR:-/tmp}/ringback-demo.XXXXXX")
dumps=$work/dumps
name=demo-$$
recorder=
load=
bold=
plain=
[ ! -t 1 ] || bold=$(printf '\033[1m') plain=$(printf '\033[0m')

end() {
	trap - EXIT
	stop_recorder
	stop_load
	rm -rf "$work/load" "$work/record.log" "$work/paths"
	rmdir "$dumps" "$work" 2>/dev/null
}
trap end EXIT
trap 'exit 130' INT TERM

stop_recorder() {
	[ -n "$recorder" ] || return 0
	kill -INT "$recorder" 2>/dev/null
	wait "$recorder"
	recorder=
}

# The load has a process group of its own, so that make's compilers end with it.
stop_load() {
	[ -n "$load" ] || return 0
	kill -TERM -- "-$load" 2>/dev/null
	wait "$load" 2>/dev/null
	load=
}

show() {
	printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"
}

failed() {
	echo "demo: $1" >&2
	cat "$work/record.log" >&2
	echo "demo: '$program doctor' tells what this machine allows" >&2
	exit 1
}

ready() {
	for ((i = 0; i < 200; i++)); do
		grep -q '^ringback: recording' "$work/record.log" && return 0
		kill -0 "$recorder" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# start_recorder ARGUMENT...: in a process group of its own, with the command that it may start
start_recorder() {
	show "$program" record "$@"
	: >"$work/record.log"
	setsid "$program" record --config /dev/null -n "$name" "$@" \
		>"$work/paths" 2>"$work/record.log" &
	recorder=$!
	ready || failed "the recorder did not start"
	cat "$work/record.log"
}

mkdir "$dumps"
make=(make -s "O=$work/load" -j2 CC=gcc all)
if [ "$(id -u)" = 0 ]; then
	start_recorder -a -o "$dumps"
	show "make -j2    # something to record: gcc compiles ringback, for 6 seconds"
	setsid "${make[@]}" >/dev/null 2>&1 &
	load=$!
else
	echo "demo: not root, so it records what it starts itself"
	start_recorder -o "$dumps" -- "${make[@]}"
	load=$recorder
fi
for ((i = 0; i < 60; i++)); do
	kill -0 "$load" 2>/dev/null || break
	sleep 0.1
done

show "$program" trigger --reason demo
dump=$("$program" trigger -n "$name" --reason demo) || failed "no dump was made"
echo "$dump"
stop_recorder
stop_load

show "$program" why "$dump"
"$program" why "$dump" || failed "the dump can't be read"

show "$program" report "$dump"
"$program" report "$dump" || failed "the dump can't be read"

show "$program" script --from -5ms --to 0 "$dump" '| tail -n 10'
"$program" script --from -5ms --to 0 "$dump" | tail -n 10

show "$program" check "$dump"
"$program" check "$dump" || failed "the dump is damaged"

cat <<EOF

The dump is $dump ($(du -h "$dump" | cut -f 1)).
It needs no root, no kernel feature and not this machine to be read. Try:

  dump=$dump
  $program report --html page.html \$dump     # the same, to zoom and search
  $program export -f pftrace \$dump >x.pftrace # for Perfetto; perf, pprof, flame graphs
  $program script \$dump | less                # every event, oldest first
  $program script --from -200ms --json \$dump  # the last 200 ms, for programs
  $program doctor                              # what this machine allows
  $program record --help                       # other events, triggers, limits
  rm -r $work             # removes the dump
EOF

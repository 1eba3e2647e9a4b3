#!/bin/bash
# SPDX-License-Identifier: MIT
# The clients in examples/clients: each asks for a dump that has its reason and its pid, without a
# recorder it says so, and heartbeats that stop make a dump.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

export RINGBACK_TELL=$work/run/default.tell GOCACHE=$work/go GOFLAGS=-mod=mod GO111MODULE=off
clients=examples/clients
cp $clients/ringback.go "$work/ringback.go"
check "the client in Go compiles" go build -o "$work/client-go" "$work/ringback.go"
check "the client in Java compiles" javac -d "$work" $clients/Ringback.java

# Each replaces the shell that it runs in, so that $! is the client's pid.
run_python() { exec python3 -B $clients/ringback.py "$@"; }
run_go() { exec "$work/client-go" "$@"; }
run_node() { exec node $clients/ringback.js "$@"; }
run_java() { exec java -cp "$work" Ringback "$@"; }

for language in python go node java; do
	"run_$language" trigger nobody >/dev/null 2>&1 &
	wait $!
	equal "$language: without a recorder it says so" 1 $?
done

nr_dumps() {
	grep -c -- "-$1\.rbd$" "$work/out"
}
has_dumps() {
	[ "$(nr_dumps "$1")" -ge "$2" ]
}
last() {
	grep -- "-$1\.rbd$" "$work/out" | tail -n 1
}

rec_start -C "$pair" -m 64K -e sched:sched_switch -T 'program:python*;name=python' -T 'program:go*;name=go' \
	-T 'program:node*;name=node' -T 'program:java*;name=java' -T 'stall:400ms;cooldown=0;name=stall' --cooldown 0
equal "the stream socket is for its owner only, too" 600 "$(stat -c %a "$RINGBACK_TELL.stream")"
for language in python go node java; do
	"run_$language" trigger "$language: checkout > 2s" &
	asked=$!
	wait "$asked"
	equal "$language: it is told" 0 $?
	check "$language: a dump is made" wait_for 20 has_dumps "$language" 1
	path=$(last "$language")
	equal "$language: the reason is in it" "$language: checkout > 2s" "$(info_json "$path" .trigger.reason)"
	check "$language: and who told it" grep -q "^told_by_pid=$asked$" <(info_json "$path" '.trigger.saw[]')
done
for language in python go; do
	stalls=$(nr_dumps stall)
	"run_$language" beat 20 1.5 &
	wait $!
	check "$language: heartbeats that stop make a dump" wait_for 20 has_dumps stall $((stalls + 1))
done
rec_stop
empty "the recorder removes both sockets" "$(find "$work/run" -name '*.tell*')"
tap_end

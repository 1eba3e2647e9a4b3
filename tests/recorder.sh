#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034 # variables are for the tests that source this
#
# Sourced by tests that run a recorder, after tap.sh: a directory of their own, a recorder in the background, loads, and an end
# that stops whatever the test started, by pid.
#
#	rec_start -a -e sched:sched_switch      $rec_pid; stdout in $work/out, stderr in $work/err
#	path=$(dump_now)                        asks for a dump, prints its path
#	rec_stop                                $rec_status

: "${RINGBACK:=build/ringback}" "${RINGBACK_BUILD:=build}"
loads=$RINGBACK_BUILD/tests
work=$(mktemp -d)
mkdir -m 700 "$work/run" "$work/dumps"
export RINGBACK_RUNTIME_DIR=$work/run
rec_pid=
rec_status=
started=()

# What a test has to put right in any case: it adds commands to this.
at_end=()

finish() {
	local c p

	for c in "${at_end[@]}"; do eval "$c"; done
	for p in "${started[@]}" $rec_pid; do
		kill "$p" 2>/dev/null
	done
	[ -z "$rec_pid" ] || wait "$rec_pid" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
	local end=$((SECONDS + $1))

	shift
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# rec_start ARG...: returns once it records; its dumps go to $work/dumps unless -o says otherwise
rec_start() {
	: >"$work/out"
	: >"$work/err"
	"$RINGBACK" record -o "$work/dumps" "$@" >"$work/out" 2>"$work/err" </dev/null &
	rec_pid=$!
	# shellcheck disable=SC2016
	wait_for 20 eval 'grep -q "^ringback: recording" "$work/err" || ! kill -0 $rec_pid'
	if ! grep -q '^ringback: recording' "$work/err"; then
		sed 's/^/# /' "$work/err"
		return 1
	fi
}

rec_stop() {
	kill -TERM "$rec_pid" 2>/dev/null
	wait "$rec_pid"
	rec_status=$?
	rec_pid=
}

dump_now() {
	"$RINGBACK" trigger "$@"
}

# in_background COMMAND...: $bg_pid, ended with the test
in_background() {
	"$@" &
	bg_pid=$!
	started+=("$bg_pid")
}

# json FILE FILTER: jq on `info --json`
info_json() {
	"$RINGBACK" info --json "$1" | jq -r "$2"
}

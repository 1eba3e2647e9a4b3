#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034 # variables are for the tests that source this
#
# Sourced by tests that run a recorder, after tap.sh. Provides a directory of their own, a recorder
# in the background, loads, and cleanup that stops every process the test started, by pid. The
# recorder does not read the machine's configuration.
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

# The CPUs that load_count moves between; only CPU 0 when CPU 1 is missing or offline.
pair=0
! grep -qx 'processor[[:space:]]*: 1' /proc/cpuinfo || pair=0,1

# Commands that finish() runs in any case, the last one first. Tests append the ones that restore
# what they change.
at_end=()
owner=$BASHPID

# Kills the children that still run, from the shell's job table: a pid in there has not been reused.
# Only the shell that owns $work cleans up: a child that gets a signal right after its fork still
# has its parent's traps.
finish() {
	local i

	[ "$BASHPID" = "$owner" ] || return
	for ((i = 0; i < 50; i++)); do
		[ -n "$(jobs -pr)" ] || break
		# shellcheck disable=SC2046 # a list of pids
		kill $(jobs -pr) 2>/dev/null
		# shellcheck disable=SC2046
		kill -CONT $(jobs -pr) 2>/dev/null
		sleep 0.1
	done
	# shellcheck disable=SC2046
	kill -KILL $(jobs -pr) 2>/dev/null
	for ((i = ${#at_end[@]} - 1; i >= 0; i--)); do eval "${at_end[i]}"; done
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# side_by_side FUNCTION...: runs the functions at the same time, each in a shell with its own $work,
# recorder and loads. Prints their points function by function.
side_by_side() {
	local part line shells=()

	for part; do
		(
			work=$work/$part at_end=() tap_nr=0 owner=$BASHPID
			mkdir -m 700 "$work" "$work/run" "$work/dumps"
			export RINGBACK_RUNTIME_DIR=$work/run
			trap finish EXIT
			trap 'exit 1' INT TERM
			SECONDS=0
			"$part"
			echo "# $part: $SECONDS s"
			echo "# end of $part"
		) >"$work/$part.tap" &
		shells+=("$!")
	done
	wait "${shells[@]}"
	for part; do
		while IFS= read -r line; do
			case $line in
			'ok '*) tap_nr=$((tap_nr + 1)) && echo "ok $tap_nr ${line#ok * }" ;;
			'not ok '*)
				tap_nr=$((tap_nr + 1)) tap_failed=$((tap_failed + 1))
				echo "not ok $tap_nr ${line#not ok * }"
				;;
			"# end of $part") ;;
			*) printf '%s\n' "$line" ;;
			esac
		done <"$work/$part.tap"
		[ "$(tail -n 1 "$work/$part.tap")" = "# end of $part" ] || not_ok "$part is run to its end"
	done
}

# only_root NAME WHY: without root, skips this point and ends the test
only_root() {
	[ "$(id -u)" != 0 ] || return 0
	skip "$1" "$2"
	tap_end
	exit
}

# wait_for SECONDS COMMAND...: until the command succeeds. Waits at least a minute, since the
# machine may be busy.
wait_for() {
	local end=$((SECONDS + ($1 > 60 ? $1 : 60)))

	shift
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# rec_start ARG...: returns once the recorder records. Rings have the presets' minimum size, dumps
# go to $work/dumps unless -o says otherwise, and symbols may take 100 s.
rec_start() {
	: >"$work/out"
	: >"$work/err"
	"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" --symbols 100s "$@" >"$work/out" 2>"$work/err" </dev/null &
	rec_pid=$!
	# shellcheck disable=SC2016
	wait_for 100 eval 'grep -q "^ringback: recording" "$work/err" || ! kill -0 $rec_pid'
	if ! grep -q '^ringback: recording' "$work/err"; then
		echo "# no recorder after $SECONDS s of this test: $(head -c 2000 "$work/err" | tr '\n' ' ')"
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

# switches [TID]: context switches of all of the recorder's threads, or of that one
switches() {
	cat /proc/"$rec_pid"/task/${1-*}/status | awk '/ctxt_switches/ { n += $2 } END { print n }'
}

# written: bytes written to the rings so far
written() {
	"$RINGBACK" status --json | jq '[.channels[].written_bytes] | add'
}

# written_since BYTES: true when more than BYTES were written
written_since() {
	[ "$(written)" -gt "$1" ]
}

# cpu_ticks PID: CPU time used, in clock ticks
cpu_ticks() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"
}

# has_used PID TICKS: true when the process has used that much CPU time
has_used() {
	[ "$(cpu_ticks "$1")" -ge "$2" ]
}

# in_background COMMAND...: sets $bg_pid; the command is stopped at the test's end
in_background() {
	"$@" &
	bg_pid=$!
	started+=("$bg_pid")
}

# info_json FILE FILTER: jq on `info --json`
info_json() {
	"$RINGBACK" info --json "$1" | jq -r "$2"
}

# with_pid PID COMMAND...: runs the command as a process with this pid, which must be free, and
# waits for it
with_pid() {
	python3 - "$@" <<'END'
import ctypes, os, struct, sys

pid = ctypes.c_int32(int(sys.argv[1]))
# struct clone_args: exit signal SIGCHLD, set_tid with one pid
args = struct.pack("11Q", 0, 0, 0, 0, 17, 0, 0, 0, ctypes.addressof(pid), 1, 0)
child = ctypes.CDLL(None, use_errno=True).syscall(435, ctypes.create_string_buffer(args, len(args)), len(args))
if child < 0:
    sys.exit("clone3: " + os.strerror(ctypes.get_errno()))
if child == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
sys.exit(0 if os.waitpid(child, 0)[1] == 0 else 1)
END
}

# as_nobody COMMAND...: as an unprivileged user
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --no-new-privs "$@"
}

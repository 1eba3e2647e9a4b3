#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034 # variables are for the tests that source this
#
# Sourced by tests that run a recorder, after tap.sh: a directory of their own, a recorder in the background, loads, and an end
# that stops whatever the test started, by pid. The machine's configuration is not read.
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

# The CPUs that load_count goes to and fro between; one where the other is not there, or offline.
pair=0
! grep -qx 'processor[[:space:]]*: 1' /proc/cpuinfo || pair=0,1

# What a test has to put right in any case: it adds commands to this; the last is the first to be run.
at_end=()
owner=$BASHPID

# Children that still run, by the shell's own book: a pid that was given to another meanwhile is not in it. Only the shell that
# owns $work cleans up: a child that gets a signal right after its fork still has the traps of its parent.
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

# side_by_side FUNCTION...: runs them at the same time, each in a shell of its own, with a $work, recorders and loads of its
# own. Their points come one function after the other.
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

# only_root NAME WHY: for others the test ends here, and that point is skipped
only_root() {
	[ "$(id -u)" != 0 ] || return 0
	skip "$1" "$2"
	tap_end
	exit
}

# wait_for SECONDS COMMAND...: until it succeeds; for a minute at least, since others may have the machine meanwhile
wait_for() {
	local end=$((SECONDS + ($1 > 60 ? $1 : 60)))

	shift
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# rec_start ARG...: returns once it records; rings are as small as presets have them; its dumps go to $work/dumps unless -o says
# otherwise, and names may take as long as
# they take
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

# written: bytes that went into the rings so far
written() {
	"$RINGBACK" status --json | jq '[.channels[].written_bytes] | add'
}

# written_since BYTES: whether there is more
written_since() {
	[ "$(written)" -gt "$1" ]
}

# cpu_ticks PID: CPU time that it has used, in clock ticks
cpu_ticks() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"
}

# has_used PID TICKS
has_used() {
	[ "$(cpu_ticks "$1")" -ge "$2" ]
}

# in_background COMMAND...: $bg_pid, ended with the test
in_background() {
	"$@" &
	bg_pid=$!
	started+=("$bg_pid")
}

# info_json FILE FILTER: jq on `info --json`
info_json() {
	"$RINGBACK" info --json "$1" | jq -r "$2"
}

# with_pid PID COMMAND...: the command as a process that has this pid, which must be free; waits for its end
with_pid() {
	python3 - "$@" <<'END'
import ctypes, os, struct, sys

pid = ctypes.c_int32(int(sys.argv[1]))
# struct clone_args: SIGCHLD at its end, set_tid with one pid
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

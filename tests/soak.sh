#!/bin/bash
# SPDX-License-Identifier: MIT
#
# soak.sh: a recorder and its keeper under all that production does to them, for SOAK_MINUTES (60):
# churn of processes, a trigger a second, reloads, a disk that fills and empties, SIGSTOP, and a kill
# each SOAK_KILL_SECONDS (300). Nothing may grow, no dump is torn, no number of a counting thread is
# missing between two dumps unless the second says so, and everything is left as it was. Prints a
# table of what was sampled. Called by `make soak`.
cd "$(dirname "$0")/.." || exit 1
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
only_root "soak" "needs root"

if [ -z "${RINGBACK_OWN_MOUNTS-}" ]; then
	rm -rf "$work"
	RINGBACK_OWN_MOUNTS=1 exec unshare --mount --propagation private bash "$0"
fi
: "${SOAK_MINUTES:=60}" "${SOAK_KILL_SECONDS:=300}"
mkdir "$work/disk"
mount -t tmpfs -o size=48M none "$work/disk"
at_end+=("umount $work/disk")

settings() {
	cat /proc/sys/kernel/core_pattern /proc/sys/kernel/core_pipe_limit /proc/sys/kernel/perf_event_*
	grep -c ' \(tracefs\|debugfs\) ' /proc/1/mounts
}

configure() {
	printf '[trigger often]\nrule = every:%ss\n' "$1" >"$work/conf"
}

# With a small history, the log of processes that a keeper holds is full after some 20 s, and each
# successor reads as much of it.
start() {
	rec_start --config "$work/conf" -a -o "$work/disk" --max-dumps 20 --symbols 100ms --ledger-size 2M \
		--channel 'count:raw_syscalls:sys_enter[id==121];size=4M' --channel 'sched:sched:sched_switch;size=256K;records=compact' &&
		started_s=$SECONDS
}

# of_process PID: KiB of memory, descriptors, mappings
of_process() {
	echo "$(awk '/^Anonymous:/ { print $2 }' "/proc/$1/smaps_rollup")" \
		"$(find "/proc/$1/fd" -type l | wc -l) $(wc -l <"/proc/$1/maps")"
}

# sample RUN: when no dump is being written. Executables that are held open for their names are as
# many as run on this machine. Memory is what the process has: malloc keeps what the history of
# processes gives back.
sample() {
	local status files kib fds maps

	status=$("$RINGBACK" status --json) && [ "$(jq -r .state <<<"$status")" = armed ] || return 0
	files=$(jq .ledger.files <<<"$status")
	read -r kib fds maps <<<"$(of_process "$rec_pid")"
	[ -n "$maps" ] || return 0
	echo "$1 $((SECONDS - started_s)) $SECONDS $kib $((fds - files)) $maps $(of_process "$keeper")" >>"$work/samples"
}

# look: at the dumps that are new
look() {
	local dump result losses

	for dump in "$work"/disk/*.rbd; do
		[ -e "$dump" ] || continue
		nr_dumps=$((nr_dumps + 1))
		cp "$dump" "$work/now.rbd"
		"$RINGBACK" check "$work/now.rbd" >"$work/check" 2>&1 || echo "$dump: $(tail -n 1 "$work/check")" >>"$work/torn"
		losses=$(info_json "$work/now.rbd" '.losses[]')
		[ "$(info_json "$work/now.rbd" .cut)" = false ] || nr_cut=$((nr_cut + 1))
		if [ -e "$work/before.rbd" ]; then
			result=$("$loads/tool_gap" "$counter" "$work/before.rbd" "$work/now.rbd")
			# What the ring has overwritten is no loss: the next dump came too late.
		[[ $result == *" missing=0 "* || $result != *" overwritten=0" ]] || [ -n "$losses" ] || echo "$dump: $result" >>"$work/unsaid"
			[[ $result == *" missing=0 "* ]] || echo "# ${dump##*/}: $result; it says: ${losses//$'\n'/; }"
			numbers=$((numbers + $(sed 's/numbers=\([0-9]*\).*/\1/' <<<"$result")))
		fi
		mv "$work/now.rbd" "$work/before.rbd"
		# Before --max-dumps deletes what was not looked at: dumps of rules go first.
		rm "$dump"
	done
}

kill_and_start() {
	[ $((RANDOM % 2)) = 0 ] || kill -USR2 "$rec_pid"
	sleep "0.0$((RANDOM % 90 + 10))"
	kill -KILL "$rec_pid"
	wait "$rec_pid" 2>/dev/null
	start || echo "no recorder: $(cat "$work/err")" >>"$work/starts"
	grep -q 'are taken over' "$work/err" || echo "not taken over: $(cat "$work/err")" >>"$work/starts"
	[ "$(grep -c 'starts anew' "$work/err")" = 0 ] || cat "$work/err" >>"$work/starts"
}

churn() {
	while sleep 0.2; do "$loads/load_short" 8 >/dev/null; done
}

settings >"$work/settings"
touch "$work/torn" "$work/unsaid" "$work/starts" "$work/samples"
nr_dumps=0 nr_cut=0 numbers=0 run=0 refused=0
configure 7
"$RINGBACK" keep 2>"$work/keep.err" &
keeper=$!
wait_for 20 grep -q "^ringback: keeping" "$work/keep.err"
if ! start; then
	not_ok "the recorder starts" "$(cat "$work/err")"
	tap_end
	exit
fi
in_background "$loads/load_count" 1000000 0 50000 >"$work/count"
wait_for 20 test -s "$work/count"
counter=$(head -n 1 "$work/count")
in_background churn
end=$((SECONDS + SOAK_MINUTES * 60))
for ((i = 1; SECONDS < end; i++)); do
	# A refused dump is no dump: the next one has its window.
	timeout 20 "$RINGBACK" trigger >/dev/null 2>&1 || refused=$((refused + 1))
	look
	[ $((SECONDS - started_s)) -lt 8 ] || sample "$run"
	if [ $((i % 5)) = 0 ]; then
		configure $((i % 2 + 6))
		kill -HUP "$rec_pid"
	fi
	case $((i % 15)) in
	8) dd if=/dev/zero of="$work/disk/filler" bs=64K 2>/dev/null ;;
	11) rm -f "$work/disk/filler" ;;
	13) kill -STOP "$rec_pid" && sleep 1 && kill -CONT "$rec_pid" ;;
	esac
	if [ $((SECONDS - started_s)) -ge "$SOAK_KILL_SECONDS" ]; then
		run=$((run + 1))
		kill_and_start
	fi
	sleep 0.5
done
rm -f "$work/disk/filler"
"$RINGBACK" trigger >/dev/null
look
rec_stop
equal "the recorder ends with 0" 0 "$rec_status"
kill "$keeper"
wait "$keeper"
equal "and the keeper" 0 $?

echo "# $nr_dumps dumps, $nr_cut cut short, $refused refused, $run kills, $numbers numbers counted"
check "there was much to see" test $nr_dumps -gt $((SOAK_MINUTES * 20)) -a $numbers -gt $((SOAK_MINUTES * 10000))
empty "each kill's successor takes over all rings" "$(cat "$work/starts")"
empty "no dump is torn" "$(cat "$work/torn")"
empty "no number is missing unless the dump says so" "$(cat "$work/unsaid")"
names=$'recorder KiB\nrecorder descriptors\nrecorder mappings\nkeeper KiB\nkeeper descriptors\nkeeper mappings'
# The first run takes over nothing.
sed -i '/^0 /d' "$work/samples"
table=$(python3 tests/helpers/soak_fit.py "$work/samples" <<<"$names")
rc=$?
# shellcheck disable=SC2001 # each line
sed 's/^/# /' <<<"$table"
# In less time a slope says nothing.
if [ "$SOAK_MINUTES" -ge 30 ]; then
	equal "nothing grows, neither in a run nor over restarts" 0 $rc
else
	most=$(awk '$4 > n { n = $4 } END { print int(n / 1024) }' "$work/samples")
	check "the recorder takes at most 16 MiB besides its rings ($most)" test "$most" -le 16
fi
equal "the machine's settings are as before" "$(cat "$work/settings")" "$(settings)"
equal "nothing is left in the control directory" "" "$(ls "$work/run")"
check "only a kill leaves an unfinished dump behind" test "$(find "$work/disk" -name '*.part' | wc -l)" -le $run
tap_end

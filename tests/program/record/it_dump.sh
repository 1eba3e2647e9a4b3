#!/bin/bash
# SPDX-License-Identifier: MIT
# SETTING: kernel.perf_event_paranoid
#
# How a dump is made: by as many threads as requested, which sleep until then and run at idle
# priority; the newest blocks of all rings first; in time also on a fully loaded machine.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# threads NAME [PID]: the recorder's threads of that name, one pid a line
threads() {
	grep -lx "$1" /proc/"${2:-$rec_pid}"/task/*/comm | cut -d/ -f5
}

# policies NAME [PID]: the scheduling policies of these threads, each once
policies() {
	threads "$@" | while read -r tid; do
		echo "$(chrt -p "$tid" | sed -n 's/.*policy: //p'), $(ionice -p "$tid")"
	done | sort -u
}

# in_order FILE: fails when block N of a ring comes before block N - 1 of another ring that has one
in_order() {
	python3 - "$1" <<-'END'
		import struct, sys

		data = open(sys.argv[1], "rb").read()
		at, nr = 64, {}
		order = []
		while data[at:at + 4] == b"RBLK":
		    section, = struct.unpack_from("<H", data, at + 4)
		    ring, stored = struct.unpack_from("<II", data, at + 12)
		    if section == 7:
		        order.append((nr.get(ring, 0), ring))
		        nr[ring] = order[-1][0] + 1
		    at += 72 + (stored + 7) // 8 * 8
		print(order)
		sys.exit(order != sorted(order) or max(order)[0] < 2)
	END
}

# all_there FILE: the dump has as many samples as its windows count
all_there() {
	[ "$("$RINGBACK" script --json "$1" | wc -l)" = "$(info_json "$1" '[.rings[].samples] | add')" ]
}

# Lower priority than this script: threads that wake each other without end can make the scheduler
# delay others for seconds.
in_background nice -n 10 "$loads/load_switch" 900 >"$work/load"
load=$bg_pid
wait_for 20 grep -q ready "$work/load"

# The rings of CPUs may fill unevenly; every block of the fullest ring must be there.
for options in "--max-dump-cpus 1" "--max-dump-cpus 2 --compress high" "--max-dump-cpus 5 --banks 1"; do
	# shellcheck disable=SC2086 # it is a list
	rec_start -C "$pair" -m 4M -e sched:sched_switch,sched:sched_wakeup $options
	nr=$(echo "$options" | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	check "$options: so many threads" test "$(threads ringback-pack | wc -l)" = "$nr"
	check "$options: they get what nobody else wants" test "$(policies ringback-pack)" = "SCHED_IDLE, idle"
	wait_for 30 written_since 16000000
	path=$(dump_now)
	check "$options: the dump is whole" "$RINGBACK" check "$path"
	check "$options: all of it can be read" all_there "$path"
	check "$options: the newest of all rings comes first" in_order "$path"
	check "$options: they get no more than before afterwards" test "$(policies ringback-pack)" = "SCHED_IDLE, idle"
	rec_stop
	rm -f "$path"
done

cat >"$work/conf" <<-END
	[record]
	max-dump-cpus = 3
	compress = high
END
rec_start --config "$work/conf" -C "$pair" -m 4M -e sched:sched_switch
check "the configuration file says how many" test "$(threads ringback-pack | wc -l)" = 3

# More load than CPUs: threads at idle priority would never run.
wait_for 30 written_since 16000000
for ((i = 0; i < 4 * $(nproc); i++)); do
	in_background bash -c 'while :; do :; done'
	busy+=("$bg_pid")
done
t0=$EPOCHREALTIME
check "a dump is made also while all CPUs are busy" timeout 60 "$RINGBACK" trigger
echo "# in $(echo "$EPOCHREALTIME $t0" | awk '{ printf "%.2f", $1 - $2 }') s"
check "afterwards the threads are idle again" test "$(policies ringback-pack)" = "SCHED_IDLE, idle"
check "and so is the one that writes" test "$(policies ringback-dump)" = "SCHED_OTHER, idle"
kill "${busy[@]}" "$load"
rec_stop
check "it ends with 0" test "$rec_status" = 0

# Without permission to raise the priority again, threads keep normal priority: on a busy machine
# the dump would never be made otherwise.
paranoid=/proc/sys/kernel/perf_event_paranoid
was=$(cat $paranoid)
at_end+=("echo $was >$paranoid")
echo 2 >$paranoid
cp "$RINGBACK" "$work/ringback"
mkdir -p "$work/user/run"
chown -R 65534:65534 "$work/user"
chmod 755 "$work"
chmod 700 "$work/user/run"

# as_user RLIMIT_NICE: records a command of an unprivileged user; sets $user_pid
as_user() {
	: >"$work/err" # what the one before said
	(
		cd "$work/user" && exec env RINGBACK_RUNTIME_DIR="$work/user/run" prlimit --nice="$1:$1" setpriv --reuid 65534 \
			--regid 65534 --clear-groups --inh-caps=-all --no-new-privs "$work/ringback" record \
			--config /dev/null --memory 0 -o dumps -- sleep 60
	) >"$work/out" 2>"$work/err" </dev/null &
	user_pid=$!
	wait_for 30 grep -q '^ringback: recording' "$work/err"
}

# ---- the time a dump covers ----

"$RINGBACK" record --config /dev/null --memory 0 --size sched=16K -a --dump-on-exit -o "$work/dumps" -n reach \
	-- sh -c 'for i in $(seq 300); do /bin/true; done; sleep 1' >/dev/null 2>"$work/err"
check "one short ring does not speak for the others: each channel's reach is told" \
	grep -qE '^ringback: dump: .* events? \(reach: cpu [0-9.]+ s, sched [0-9.]+ [mu]?s, life [0-9.]+ s\), ' "$work/err"

for limit in 0 19 20; do
	if ! prlimit --nice="$limit:$limit" true 2>/dev/null; then
		echo "# RLIMIT_NICE may not be $limit here"
		continue
	fi
	want="SCHED_OTHER, none: prio 0"
	[ $limit -lt 20 ] || want="SCHED_IDLE, idle"
	as_user $limit
	check "RLIMIT_NICE $limit: a user's threads are ${want%,*}" test \
		"$(policies ringback-pack "$user_pid")" = "$want"
	sed "s/^/# /" "$work/err"
	# shellcheck disable=SC2046 # its command too, which goes on without it
	kill "$user_pid" $(pgrep -P "$user_pid")
	wait "$user_pid"
done
tap_end

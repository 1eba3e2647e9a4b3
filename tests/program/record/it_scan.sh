#!/bin/bash
# SPDX-License-Identifier: MIT
#
# With 5,000 processes already running, the recorder needs at most 1 s of CPU time more until it is
# ready than with few; it knows their names, and reports what the scan took.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

nr=5000

# start_timed: starts the recorder, $rec_pid; sets $ready, its CPU time until it is ready, in clock
# ticks
start_timed() {
	local line fd

	"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -a -m 8M -e 'sched:sched_switch[prev_comm ~ "many-*"]' \
		>"$work/out" 2>"$work/messages" </dev/null &
	rec_pid=$!
	exec {fd}<"$work/messages"
	ready=
	while read -r -t 100 -u "$fd" line; do
		if [[ $line == 'ringback: recording'* ]]; then
			ready=$(cpu_ticks "$rec_pid")
			break
		fi
		echo "# $line"
	done
	# Later messages need a reader.
	in_background cat <&"$fd" >"$work/err"
	exec {fd}<&-
}

mkfifo "$work/messages" "$work/many.in"
start_timed
rec_stop
few=$ready
check "it gets ready with few processes" test -n "$few"

"$loads/load_many" $nr <"$work/many.in" >"$work/many.out" 2>&1 &
many=$!
exec 9>"$work/many.in"
if ! wait_for 200 grep -q ready "$work/many.out"; then
	not_ok "$nr processes start" "$(cat "$work/many.out")"
	tap_end
	exit 1
fi

start_timed
check "it gets ready with $nr more" test -n "$ready"
echo "# ready after $few ticks of CPU time, with $nr processes more after $ready"
check "that takes at most 1 s of CPU time more" test $((ready - few)) -le "$(getconf CLK_TCK)"
knows_all() {
	[ "$("$RINGBACK" status --json | jq .ledger.tasks)" -ge $nr ]
}
check "it knows all of them" wait_for 60 knows_all
echo >&9
check "all of them wake up" wait_for 200 grep -q "^done" "$work/many.out"
path=$(dump_now)
"$RINGBACK" status --json >"$work/status"
rec_stop

# The kernel's name for the thread that goes to sleep, and the ledger's.
"$RINGBACK" script --json "$path" | jq -r '"\(.fields.prev_comm) \(.comm)"' |
	sort -u >"$work/names"
check "all $nr have run" test "$(awk '{ print $1 }' "$work/names" | sort -u | wc -l)" = $nr
check "a dump has the right name of each" test "$(awk '$1 == $2' "$work/names" | wc -l) $(awk '$1 != $2' "$work/names" | wc -l)" = "$nr 0"
check "status says how many it knows" test "$(jq .ledger.tasks "$work/status")" -ge $nr
bytes=$(jq .ledger.bytes "$work/status")
echo "# $bytes bytes of memory for processes, $(jq .cost.rss_bytes "$work/status") resident"
check "and what memory that takes: not more than 4 KiB each" test "$bytes" -gt 0 -a "$bytes" -le $((nr * 4096))
check "within what it may take" test "$bytes" -le "$(jq .ledger.max_bytes "$work/status")"
check "nobody was forgotten for it" test "$(jq .ledger.evicted "$work/status")" = 0
exec 9>&-
wait $many
check "the load ends" test $? = 0
tap_end

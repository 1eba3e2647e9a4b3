#!/bin/bash
# SPDX-License-Identifier: MIT
# record --verbose reports what is recorded, the result of each hit and why one was held, and how
# long dumps took; without it the recorder reports only dumps, with -q nothing.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

said() {
	grep -qE "^ringback: $1" "$work/err"
}
# Only the command's own signals match the rule.
fires="sleep 0.2; kill -USR1 \$PPID; until [ -s $work/out ]; do sleep 0.05; done; kill -USR1 \$PPID
	until grep -qE 'mine: .*(held|merged)' $work/err; do sleep 0.05; done"
printf "[record]\npost = 0s\n" >"$work/conf"
timeout 100 "$RINGBACK" record -v --config "$work/conf" --memory 0 -o "$work/dumps" -e dummy,context-switches -m 16K \
	-T "signal:USR1;name=mine;cooldown=1m" -- sh -c "$fires" >"$work/out" 2>"$work/err"
equal "one dump is made" "0 1" "$? $(wc -l <"$work/out")"
for line in 'records: command sh .*[0-9] rings?, [0-9.]+ [KM]iB of memory' '  channel events: 2 banks of 16 KiB a CPU: dummy, context-switches$' \
	'rule mine: signal:USR1;name=mine;cooldown=1m$' '    watches  a signalfd for SIGUSR1$' "dumps go to $work/dumps\$" "configuration $work/conf is read\$" \
	'hit of mine: signal=SIGUSR1, sender_pid=[0-9]+, .*; dump$' 'hit of mine: .*; held: no dump for another [0-9.]+ [sm].*cooldown' \
	'dump: rings paused [0-9.]+ [um]?s after the hit, within [0-9.]+ [num]?s; file written in [0-9.]+ [um]?s'; do
	check "verbose says: $line" said "$line"
done
check "what is recorded is said before it is ready" awk '/^ringback: records/ { seen = 1 } /^ringback: recording$/ { exit !seen }' "$work/err"
equal "hits in no dump are told of once" 1 "$(grep -c 'not included in any dump' "$work/err")"

timeout 100 "$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -e dummy -m 16K -T "signal:USR1;name=mine" \
	-- sh -c 'sleep 0.2; kill -USR1 $PPID; sleep 0.3' >"$work/out" 2>"$work/err"
equal "without it: when it is ready, and the dump" "recording dump:" "$(awk '{ print $2 }' "$work/err" | tr '\n' ' ' | sed 's/ $//')"
timeout 100 "$RINGBACK" record -q --config /dev/null --memory 0 -o "$work/dumps" -e dummy -m 16K -- true >"$work/out" 2>"$work/err"
empty "with -q nothing" "$(cat "$work/err")"
tap_end

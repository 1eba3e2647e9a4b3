#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Several dumps of one recorder read as one. The events are known by number: load_count calls
# getpgid(1), getpgid(2), ..., and the rings have nothing else, so none is overwritten however long
# a dump takes. Checks depend only on the files.
set -u
cd "$(dirname "$0")/../../.." || exit 1

# shellcheck source=tests/helpers/tap.sh
. tests/helpers/tap.sh
# shellcheck source=tests/helpers/recorder.sh
. tests/helpers/recorder.sh

only_root "dumps are read as one" "needs root"

calls=$(realpath "$loads/load_calls")
count=$(realpath "$loads/load_count")
event='raw_syscalls:sys_enter[id==121]'

# lines OPTION...: the calls of load_count, one per line: thread and number
lines() {
	"$RINGBACK" script --comm load_count --json "$@" | jq -r 'select(.event == "raw_syscalls:sys_enter") | "\(.tid) \(.fields.args[0] // .fields.args)"'
}

# A load that counts to at least 1000, run to its end.
counted() {
	"$count" 0.01 1000 >/dev/null
}

rec_start -a -m 16M -e "$event"
counted
one=$(dump_now)
counted
two=$(dump_now)
counted
three=$(dump_now)
rec_stop

lines "$one" >"$work/1"
lines "$two" >"$work/2"
lines "$three" >"$work/3"
check "each dump has a load of its own" test -s "$work/1" -a -s "$work/2" -a -s "$work/3"
nothing_missing() {
	[ "$(info_json "$1" '[.rings[].overwritten_bytes] | add')" = 0 ]
}
check "and nothing of it was overwritten" eval 'nothing_missing "$one" && nothing_missing "$two" && nothing_missing "$three"'

same() {
	[ -s "$1" ] && cmp "$1" "$2"
}
cat "$work/1" "$work/2" >"$work/want"
lines "$one" "$two" >"$work/got"
check "two dumps are read as one, each call once" same "$work/want" "$work/got"
lines "$two" "$one" >"$work/got"
check "in whatever order they are named" same "$work/want" "$work/got"
lines --history "$two" >"$work/got"
check "--history finds the dump before by itself" same "$work/want" "$work/got"
lines --no-history "$two" >"$work/got"
check "--no-history reads the one alone" same "$work/2" "$work/got"
cat "$work/1" "$work/2" "$work/3" >"$work/want"
lines "$one" "$two" "$three" >"$work/got"
check "three are as well" same "$work/want" "$work/got"

check "report says with which dump it was read" \
	bash -c "$RINGBACK report $one $two | tr -s ' \n' ' ' | grep -q 'with the dump before it ($(basename "$one"))'"
check "why says it too" bash -c "$RINGBACK why $one $two | grep -q 'with the dump before it ($(basename "$one"))'"
check "and a page can be made of them" "$RINGBACK" report --html "$work/page.html" "$one" "$two"

# refused NAME TEXT ARG...
refused() {
	"$RINGBACK" script "${@:3}" >"$work/o" 2>"$work/e"
	equal "$1" 1 $?
	check "and says why: $2" grep -q "$2" "$work/e"
}
refused "dumps with one missing between are refused" 'without a gap' "$one" "$three"
refused "--history is an error where there is none before" 'the previous dump does not exist' --history "$one"
rm -f "$work/away.rbd"
mv "$one" "$work/away.rbd"
refused "and where it was deleted" 'does not exist' --history "$two"
check "without it, that is none" "$RINGBACK" script "$two"
mv "$work/away.rbd" "$one"

# --- a rule with a condition that began in the previous dump ---

# voluntary: number of the load's sleeps; waits_in_call: true when it has slept once more and reads
# again
voluntary() {
	awk '/^voluntary/ { print $2 }' "/proc/$load/status"
}
waits_in_call() {
	[ "$(voluntary)" -gt "$slept" ] && grep -q '^0 ' "/proc/$load/syscall"
}
mkfifo "$work/go"
exec 7<>"$work/go"
"$calls" hang <&7 >"$work/load" &
load=$!
wait_for 20 grep -q '^ready' "$work/load"
waits() { grep -q '^0 ' "/proc/$load/syscall"; }
wait_for 20 waits

rec_start -a -m 16M -e "$event" -T "latency:$calls:calls_one>50ms;name=slow"
slept=$(voluntary)
echo >&7
wait_for 60 waits_in_call
counted
one=$(dump_now)
sleep 0.1 # so long at least the call takes
counted
echo >&7
wait "$load"
exec 7<&-
has_two() { [ "$(wc -l <"$work/out")" = 2 ]; }
wait_for 60 has_two
rec_stop
two=$(sed -n 2p "$work/out")
lines "$one" >"$work/1"
lines --no-history "$two" >"$work/2"
cat "$work/1" "$work/2" >"$work/want"
lines "$two" >"$work/got"
check "a rule that began to be met in the dump before is read with that" same "$work/want" "$work/got"
check "report does so by itself" bash -c "$RINGBACK report $two | grep -q 'with the dump before'"
check "but not with --no-history" bash -c "! $RINGBACK report --no-history $two | grep -q 'with the dump before'"

refused "dumps of two recorders are refused" 'from different recorders' "$three" "$two"

# --- a rule about a longer time than the dumps cover ---
rec_start -a -m 4K -e "$event" -T "latency:$calls:calls_one>1h;name=long" -T signal:USR1
counted
one=$(dump_now)
check "more was counted than such rings hold" test "$(info_json "$one" '[.rings[].overwritten_bytes] | max')" -gt 0
needs='needs .* of history, but in the last dump channel events reached back '
check "after the first dump, a rule is warned of that needs more history" grep -q "rule latency:.*$needs" "$work/err"
check "and status says it" bash -c "$RINGBACK status | grep -q '^warning: *long: .*$needs'"
check "of no other rule" bash -c "! $RINGBACK status | grep -q '^warning: .*USR1'"
counted
one=$(dump_now)
equal "once" 1 "$(grep -c "$needs" "$work/err")"
rec_stop

tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sleep-stacks: a BPF program decides which sleeps need a stack. The places derived from those few
# stacks equal the ones from stacks recorded in full, in each of several dumps. Without BPF the
# preset waits works without it.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "stacks of sleeps" "BPF programs need root"

# two DIR: builds the program with two sleeping places
cat >"$work/two.c" <<'END'
#include <stdlib.h>
#include <time.h>
static volatile int sink;
static int ms;
static void nap(void) { struct timespec t = {0, ms * 1000000}; nanosleep(&t, 0); sink++; }
__attribute__((noinline)) void upstairs(void) { nap(); sink++; }
__attribute__((noinline)) void downstairs(void) { nap(); sink++; }
int main(int argc, char **argv)
{
	ms = atoi(argv[1]);
	for (;;) {
		for (int i = 0; i < 30; i++) upstairs();
		for (int i = 0; i < 30; i++) downstairs();
	}
}
END
check "a program that sleeps in two places builds" gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/rb-two" "$work/two.c"

# sleeps COMM DUMP: number of sleeps; samples COMM DUMP: number of stacks recorded for them
sleeps() {
	"$RINGBACK" script --json --no-history --comm "$1" "$2" | jq -r 'select(.event == "sched:sched_switch" and .fields.prev_state == 1) | .t' | wc -l
}
samples() {
	"$RINGBACK" script --json --no-history --comm "$1" "$2" | jq -r 'select(.event == "sleep-stacks" and .raw[0:2] == "01") | .t' | wc -l
}

# ---- equal to full stacks ----

rec_start -a --channel 'sched:sched:sched_switch;stack=fp;size=32M' --channel 'sleeps:sleep-stacks;stack=fp;size=16M'
in_background redis-server --port 0 --unixsocket "$work/redis" --save '' --logfile "$work/redis.log"
wait_for 20 redis-cli -s "$work/redis" ping >/dev/null
in_background "$work/rb-two" 2
# Also threads that come and go, and sleep only once in a place.
for dump in one two three; do
	redis-benchmark -s "$work/redis" -c 10 -n 20000 -t get,set -q >/dev/null
	sh -c 'for i in 1 2 3 4 5 6 7 8; do ls -R /usr/share/doc/lib* >/dev/null; done'
	path=$(dump_now)
	read -r from to < <(info_json "$path" '.channels as $c | [.rings[] | select($c[.channel].name == "sleeps")] | "\(map(.from) | max) \(map(.to) | min)"')
	read -r nr nr_samples other unknown < <("$RINGBACK" script --no-history --json "$path" | python3 tests/compare/sleeps_same.py "$from" "$to" 2>"$work/other")
	echo "# $dump: $nr sleeps, $nr_samples samples"
	check "$dump: there are many sleeps" test "${nr:-0}" -ge 2000
	[ "${other:-1}" = 0 ] || sed 's/^/# /' "$work/other"
	# They differ when memory is paged out at the time of one of the two.
	check "$dump: each place is that of the stack in full, but for one in 2,000" test $((2000 * other)) -le "$nr"
	check "$dump: of 1 % at most it is not known" test $((100 * unknown)) -le "$nr"
	rm -f "$path"
done
rec_stop
check "it ends with 0" test "$rec_status" = 0

# ---- the preset ----

rec_start -a --preset waits
sleep 1
path=$(dump_now)
rec_stop
equal "waits has them" 1 "$(info_json "$path" '[.channels[].events[] | select(.name == "sleep-stacks")] | length')"
nr=$(sleeps rb-two "$path") nr_samples=$(samples rb-two "$path")
echo "# rb-two: $nr sleeps, $nr_samples samples"
tenths=$(info_json "$path" '[.rings[].horizon_ns] | max / 100000000 | ceil')
check "a stack for each change of place and each 100 ms, no more" test "$nr" -ge 10 -a "$nr_samples" -le $((nr / 30 + tenths + 3))
kill "$bg_pid"
# Symbols are looked up at idle priority, which takes long on a busy machine.
rec_start -a --preset waits --symbols 300s -T 'offcpu:rb-two>400ms;max=1/1h'
in_background "$work/rb-two" 500
wait_for 20 test -s "$work/out"
wait_for 300 eval '"$RINGBACK" why "$(tail -n 1 "$work/out")" | grep -q upstairs'
rec_stop
"$RINGBACK" why "$(tail -n 1 "$work/out")" >"$work/why"
if grep -qE 'slept in .*nanosleep\(\), called by (nap\(\) < )?upstairs\(\)' "$work/why"; then
	ok "why names the caller past what only sleeps"
else
	not_ok "why names the caller past what only sleeps" "$(cat "$work/why"; "$RINGBACK" info "$(tail -n 1 "$work/out")")"
fi
"$RINGBACK" report "$(tail -n 1 "$work/out")" >"$work/report"
# A sample of the CPU may show the BPF program at work.
check "report's sleeps do not show how the samples were written" test "$(sed -n '/^BLOCKED/,/^WHERE CPU/p' "$work/report" | grep -c 'bpf_')" = 0

# ---- without BPF ----

no_bpf=(setpriv "--bounding-set=-bpf,-sys_admin" "--inh-caps=-bpf,-sys_admin")
out=$("${no_bpf[@]}" "$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" -a --dump-on-exit -v --preset waits -n plain -- sleep 0.2 2>"$work/err")
check "without BPF the preset records all the same" test -n "$out"
check "-v says why it has no sleep-stacks" grep -q 'BPF programs of sleep-stacks' "$work/err"
equal "and each switch has its stack" 0 "$(info_json "$(tail -n 1 <<<"$out")" '[.channels[].events[] | select(.name == "sleep-stacks")] | length')"
"${no_bpf[@]}" "$RINGBACK" record --config /dev/null -o "$work/dumps" -a -e sleep-stacks -n plain -- true >/dev/null 2>"$work/err"
check "asked for by name they are an error that says what it needs" eval '[ $? != 0 ] || grep -q "CAP_BPF" "$work/err"'
"$RINGBACK" record --config /dev/null -o "$work/dumps" -p $$ -e sleep-stacks -n plain 2>"$work/err"
check "of single threads they can't be had" grep -q 'sleep-stacks needs the whole system' "$work/err"
tap_end

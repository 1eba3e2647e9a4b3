#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# What triggers a dump and what prevents one: the control socket, SIGUSR2, rules on signals, --post,
# --cooldown, --max-dumps, --max-disk, --dump-on-exit, merging, SIGHUP; and permissions.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# At most two CPUs, so that a dump stays small on a large machine.
sched="-C $pair -m 64K -e sched:sched_switch"

nr_paths() {
	wc -l <"$work/out"
}

has_paths() {
	[ "$(nr_paths)" -ge "$1" ]
}

fresh() {
	rm -f "$work"/dumps/*
	# shellcheck disable=SC2086
	rec_start $sched "$@"
}

# --- the control socket ---
fresh -n one
path=$(dump_now -n one --reason 'it was slow')
check "ringback trigger prints the path of a dump that is there" test -s "$path"
check "the dump is for its owner only" test "$(stat -c %a "$path")" = 600
wait_for 20 has_paths 1 # it answers first
equal "record prints the same path, and nothing else, on stdout" "$path" "$(cat "$work/out")"
check "the reason is in the dump" test "$(info_json "$path" .trigger.reason)" = "it was slow"
check "the file's name says what asked for it" grep -q -- '-manual\.rbd$' <<<"$path"
check "the dump passes check" "$RINGBACK" check "$path"
"$RINGBACK" status -n one >"$work/status"
check "status names the recorder and its last dump" grep -q "$path" "$work/status"
check "a name is used by one recorder at a time" \
	bash -c "! $RINGBACK record --config /dev/null --memory 0 $sched -n one -o $work 2>$work/second && grep -q one $work/second"
check "the socket is for its owner only" test "$(stat -c %a "$work/run/one.sock")" = 600

# The recorder's own answer to nobody, with file modes that let the request through; "ringback
# trigger" itself would not even send it.
chmod 755 "$work" "$work/run"
chmod 777 "$work/run/one.sock"
PATH=/usr/bin:/bin as_nobody python3 - "$work/run/one.sock" >"$work/answer" 2>&1 <<'END'
import socket, sys

s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print(s.recv(1000).decode())
END
check "another user is refused even where modes allow it" grep -q 'only uid 0 and root' "$work/answer"
sed 's/^/# /' "$work/answer"
check "no dump came of it" test "$(nr_paths)" = 1
chmod 700 "$work/run"

# --- SIGUSR2 ---
kill -USR2 "$rec_pid"
check "SIGUSR2 makes a dump" wait_for 10 has_paths 2
path=$(sed -n 2p "$work/out")
check "whose name says so" grep -q -- '-SIGUSR2\.rbd$' <<<"$path"
check "the second dump overlaps the first on every ring" \
	test "$(info_json "$path" '[.rings[].gap_ns] | max')" -lt 0
check "who sent the signal is in the dump" bash -c "$RINGBACK info '$path' | grep -q sender_pid"

# --- merging: 50 signals and a request at once ---
for ((i = 0; i < 50; i++)); do kill -USR2 "$rec_pid"; done
dump_now -n one >"$work/asked" 2>&1
wait_for 10 has_paths 3
rec_stop
check "the recorder ends with 0 on SIGTERM" test "$rec_status" = 0
# Three dumps were requested one by one. On a busy machine a dump may be done before all signals of
# the storm have come.
check "a storm of signals makes few dumps" test $(($(nr_paths) - 3)) -le 20
hits=$(for f in $(cat "$work/out"); do info_json "$f" '[.trigger.merged[]?.hits] | add // 0'; done | paste -sd+ | bc)
echo "# $(nr_paths) dumps, $hits merged hits"
check "no socket and no lock are left behind" test -z "$(ls "$work/run")"

# --- rules, cooldown ---
fresh -T 'signal:USR1;name=app;cooldown=1h' -T 'signal:RTMIN+3;post=300ms'
kill -USR1 "$rec_pid"
check "a rule on SIGUSR1 makes a dump of its name" \
	eval 'wait_for 10 has_paths 1 && grep -q -- "-app\.rbd$" "$work/out"'
kill -USR1 "$rec_pid"
kill -USR1 "$rec_pid"
held() { [ "$("$RINGBACK" status --json | jq '.totals.held')" -ge 1 ]; }
check "within its cooldown a rule is held, and counted" wait_for 10 held
check "and makes no dump" test "$(nr_paths)" = 1
t0=$(date +%s%N)
kill -s RTMIN+3 "$rec_pid"
wait_for 10 has_paths 2
t1=$(date +%s%N)
path=$(sed -n 2p "$work/out")
check "post: recording goes on after the hit" test $((t1 - t0)) -ge 300000000
check "and the dump has what came after it" \
	test "$(info_json "$path" '[.rings[].to] | max')" -ge 290000000
check "the held hits are told by the next dump" \
	test "$(info_json "$path" '[.trigger.merged[] | select(.name == "app") | .hits] | add')" -ge 1
rec_stop

# --- SIGHUP ---
# Threads besides the first, by name, that do not block every signal. A signal added by a later rule
# would end the recorder there. All signals but the four that can't be blocked must be blocked.
open_to_signals() {
	local t

	for t in /proc/"$rec_pid"/task/*; do
		[ "${t##*/}" = "$rec_pid" ] || awk '/^Name:/ { name = $2 }
			/^SigBlk:/ && $2 != "fffffffe7ffbfeff" { print name, $2 }' "$t/status" 2>/dev/null
	done
}

# The thread that reads /proc at the start has low priority: with many processes to read and busy
# CPUs it is still there when recording begins, and at the signal below.
others=()
for ((i = 0; i < 500; i++)); do
	in_background sleep 600
	others+=("$bg_pid")
done
for ((i = 0; i < 2 * $(nproc); i++)); do
	in_background sh -c 'while :; do :; done'
	others+=("$bg_pid")
done
printf '[record]\ncooldown = 1h\n[trigger late]\nrule = signal:USR1\n' >"$work/conf"
chmod 600 "$work/conf"
fresh --config "$work/conf"
empty "no thread but the first can get a signal" "$(open_to_signals)"
printf '[record]\n[trigger other]\nrule = signal:RTMIN+1\n' >"$work/conf"
kill -HUP "$rec_pid"
check "SIGHUP reads the configuration again" wait_for 10 grep -q 'were read again' "$work/err"
kill -s RTMIN+1 "$rec_pid"
check "a rule that came with it works" wait_for 10 grep -q -- '-other\.rbd' "$work/out"
kill "${others[@]}"
wait "${others[@]}" 2>/dev/null
# A rule on an ended process, an unchanged rule, a new rule.
true &
gone=$!
wait "$gone"
printf '[record]\n[trigger other]\nrule = signal:RTMIN+1\n[trigger gone]\nrule = exit:%d\n[trigger new]\nrule = signal:RTMIN+2\n' \
	"$gone" >"$work/conf"
: >"$work/err"
kill -HUP "$rec_pid"
check "a rule on a process that has ended does not hinder the others" wait_for 10 grep -q 'were read again' "$work/err"
equal "it is told in one line" 1 "$(grep -c "exit:$gone;name=gone is not used: there is no process $gone" "$work/err")"
check "and by status" grep -q "^warning: *gone: there is no process $gone" <<<"$("$RINGBACK" status)"
kill -s RTMIN+2 "$rec_pid"
check "a new rule beside it works" wait_for 10 grep -q -- '-new\.rbd' "$work/out"
equal "an unchanged one has its count" 1 "$("$RINGBACK" status --json | jq '.rules[] | select(.name == "other") | .hits')"
# A replaced program: after a reload the unchanged rule is about the new program.
cp "$loads/load_calls" "$work/calls"
printf '[trigger other]\nrule = signal:RTMIN+1\n[trigger probe]\nrule = uprobe:%s:calls_one\n' "$work/calls" >"$work/conf"
probe_hits() { "$RINGBACK" status --json | jq '.rules[] | select(.name == "probe") | .hits'; }
has_probe_hits() { [ "$(probe_hits)" = "$1" ]; }
: >"$work/err"
kill -HUP "$rec_pid"
wait_for 10 grep -q 'were read again' "$work/err"
"$work/calls" now 0 >/dev/null
check "a rule on a program has a hit" wait_for 10 has_probe_hits 1
cp "$loads/load_calls" "$work/calls.new"
mv "$work/calls.new" "$work/calls"
: >"$work/err"
kill -HUP "$rec_pid"
wait_for 10 grep -q 'were read again' "$work/err"
"$work/calls" now 0 >/dev/null
check "and one on the program that took its place" wait_for 10 has_probe_hits 2
printf 'nonsense here\n' >"$work/conf"
kill -HUP "$rec_pid"
check "a wrong configuration is refused, the old one stays" wait_for 10 grep -q 'old configuration stays' "$work/err"
# A hit while the probe's dump is being made would be merged into it.
is_armed() { [ "$("$RINGBACK" status --json | jq -r .state)" = armed ]; }
wait_for 60 is_armed
kill -s RTMIN+1 "$rec_pid"
check "and still works" wait_for 10 eval '[ "$(grep -c -- "-other\.rbd" "$work/out")" -ge 2 ]'
rec_stop

# --- limits ---
fresh --max-dumps 3
for ((i = 0; i < 6; i++)); do last=$(dump_now); done
check "--max-dumps keeps that many" test "$(find "$work/dumps" -name '*.rbd' | wc -l)" = 3
check "the newest is one of them" test -e "$last"
rec_stop
# Room for three or four dumps of the size they have here.
limit=$(($(stat -c %s "$work"/dumps/*.rbd | sort -n | tail -n 1) * 7 / 2))
fresh --max-disk $limit
for ((i = 0; i < 12; i++)); do dump_now >/dev/null; done
size=$(stat -c %s "$work"/dumps/* | awk '{ n += $1 } END { print n }')
check "--max-disk is never exceeded ($size of $limit bytes)" test "$size" -le "$limit"
check "and there are dumps" test "$(find "$work/dumps" -name '*.rbd' | wc -l)" -ge 1
rec_stop

# --- exit ---
fresh --dump-on-exit
rec_stop
check "--dump-on-exit makes a last dump" test -s "$(cat "$work/out")"
check "named so" grep -q -- '-exit\.rbd$' "$work/out"
tap_end

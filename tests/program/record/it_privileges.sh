#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 200
#
# Root's recorder keeps the capabilities that its configuration needs, in all threads, and says which. They
# are enough for all kinds of rules, and what a command may do is not changed.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "privileges are dropped" "a recorder without root has none to drop"

# mask NAME...: as in /proc/PID/status
mask() {
	local name mask=0

	for name; do
		mask=$((mask | 1 << $(awk -v name="$name" '$1 == "#define" && $2 == name { print $3 }' /usr/include/linux/capability.h)))
	done
	printf '%016x' $mask
}

# of_threads FIELD...: the values in all of the recorder's threads, each once
of_threads() {
	local field

	for field; do
		cat /proc/"$rec_pid"/task/*/status | awk -v field="$field:" '$1 == field { print $2 }'
	done | sort -u | paste -sd' '
}

kept() {
	"$RINGBACK" status --json | jq -r '.privileges[].capability' | paste -sd' '
}

# has CAPABILITY
has() {
	[[ " $(kept) " == *" $1 "* ]]
}

own=$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status)
small="-C $pair -e sched:sched_process_exit -m 64K"

# ---- what is kept ----
# shellcheck disable=SC2086 # a list of words
rec_start $small --symbols off
equal "without names, BPF or pressure" \
	"CAP_PERFMON CAP_IPC_LOCK CAP_SYS_NICE CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_SYS_ADMIN" "$(kept)"
# shellcheck disable=SC2046 # a list of words
equal "all threads have what status says" "$(mask $(kept))" "$(of_threads CapPrm CapEff CapBnd)"
equal "... and nothing to pass on" 0000000000000000 "$(of_threads CapInh CapAmb)"
equal "... nor a way to gain more" 1 "$(of_threads NoNewPrivs)"
equal "... and a filter for system calls" 2 "$(of_threads Seccomp)"
check "several threads were there" test "$(find /proc/"$rec_pid"/task -maxdepth 1 | wc -l)" -gt 2
equal "status lists them as text" "$(kept)" \
	"$("$RINGBACK" status | sed -n '/^privileges:/,$p' | grep -o 'CAP_[A-Z_]*' | paste -sd' ')"
equal "each has a reason" 0 "$("$RINGBACK" status --json | jq '[.privileges[] | select(.why == "")] | length')"
rec_stop

exec 9<"$0"
# shellcheck disable=SC2086
rec_start $small --on-dump 'readlink /proc/$$/fd/9'
for cap in CAP_SETUID CAP_SETGID CAP_KILL CAP_SYSLOG CAP_CHECKPOINT_RESTORE; do
	check "names take $cap" has $cap
done
check "... not CAP_BPF" bash -c "[[ '$(kept)' != *BPF* ]]"
equal "a dump has names" "done" "$(info_json "$(dump_now)" .symbols.end)"
check "what the recorder inherited is not passed on" \
	bash -c "! find /proc/$rec_pid/fdinfo/9 >/dev/null || grep -q '^flags:.*02' /proc/$rec_pid/fdinfo/9"
exec 9<&-
rec_stop

# shellcheck disable=SC2086
rec_start $small --symbols off -T 'runqueue>1h' -T 'psi:memory:some>900ms/1s'
check "a rule with BPF programs takes CAP_BPF" has CAP_BPF
check "a rule for pressure takes CAP_SYS_RESOURCE, where root has it" \
	eval '((!(0x$own & 0x$(mask CAP_SYS_RESOURCE)))) || has CAP_SYS_RESOURCE'
rec_stop

mkdir -m 755 "$work/theirs"
chown nobody "$work/theirs"
# shellcheck disable=SC2086
rec_start $small --symbols off -o "$work/theirs"
check "a directory of another user takes CAP_DAC_OVERRIDE" has CAP_DAC_OVERRIDE
check "... and gets a dump" test -s "$(dump_now)"
rec_stop

: >"$work/err" # not to be mistaken for the recorder before
# shellcheck disable=SC2086
"$RINGBACK" --no-sandbox record --config /dev/null --memory 0 -o "$work/dumps" $small >"$work/out" 2>"$work/err" &
rec_pid=$!
wait_for 60 grep -q '^ringback: recording' "$work/err"
equal "--no-sandbox keeps all" "$own" "$(of_threads CapPrm CapEff)"
equal "... and status says nothing" null "$("$RINGBACK" status --json | jq .privileges)"
rec_stop

# ---- a command keeps its rights ----
grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status >"$work/before"
# shellcheck disable=SC2086
"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" $small -- \
	grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status >"$work/command" 2>"$work/err"
check "a command keeps its rights" diff "$work/before" "$work/command"

# ---- a reload ----
# config RULE...
config() {
	local rule nr=0

	printf '[record]\ncooldown = 1h\n' >"$work/conf"
	for rule; do
		printf '[trigger r%d]\nrule = %s\n' $((nr++)) "$rule" >>"$work/conf"
	done
}

reload() {
	: >"$work/err"
	kill -HUP "$rec_pid"
	wait_for 10 grep -q 'were read again' "$work/err"
}

rules() {
	"$RINGBACK" status --json | jq -r '.rules[] | "\(.text) \(.armed) \(.trouble)"'
}

config 'load>1000'
chmod 600 "$work/conf"
# shellcheck disable=SC2086
rec_start $small --symbols off --config "$work/conf"
config 'runqueue>1h' 'load>2000'
reload
check "a reload with a rule that needs what was given up: it is told" \
	grep -q 'runqueue>1h;name=r0 is not used: it needs CAP_BPF, which the recorder gave up' "$work/err"
check "... also by status" grep -q '^warning: *r0: it needs CAP_BPF' <<<"$("$RINGBACK" status)"
equal "... the other rule is used" true "$("$RINGBACK" status --json | jq '.rules[] | select(.text == "load>2000;name=r1") | .armed')"
check "... CAP_BPF did not come back" bash -c "[[ '$(kept)' != *BPF* ]]"
rec_stop

# Rules of all kinds that come later are opened with what was kept. Some can't be used here whatever the
# rights, so they are compared with those of a recorder that keeps all.
target=$(realpath "$loads/load_calls")
all=('cpu:1>95%/5s' 'crash:none' 'event:oom:mark_victim' 'every:1h' 'exit:1' "file:$work/conf~none" "latency:$target:calls_one>1h"
	'load>1000' 'mem:available<1K' 'oom' 'program:none' 'psi:memory:some>900ms/1s' 'psi:cpu:some:/>900ms/1s' 'rate:page-faults>100000000/s'
	'rss:1>9G' 'signal:USR1' 'stall:200s' 'syscall:fsync>1h' "uprobe:$target:calls_one" "uretprobe:$target:calls_one" 'runqueue>1h'
	'offcpu:none>1h' "watch:$target:calls_one")
for how in --no-pager --no-sandbox; do
	config 'runqueue>2h' 'psi:memory:some>800ms/1s'
	: >"$work/err"
	"$RINGBACK" $how record --config "$work/conf" --memory 0 -o "$work/dumps" -a -e sched:sched_process_exit \
		-m 64K >"$work/out" 2>"$work/err" &
	rec_pid=$!
	wait_for 60 grep -q '^ringback: recording' "$work/err"
	config "${all[@]}"
	reload
	rules >"$work/rules$how"
	dump_now >/dev/null
	rec_stop
done
check "rules of all kinds that come later work as with all rights" diff "$work/rules--no-sandbox" "$work/rules--no-pager"
echo "# $(grep -c ' true ' "$work/rules--no-pager") of $(wc -l <"$work/rules--no-pager") rules are armed"
tap_end

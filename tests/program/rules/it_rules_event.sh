#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Rules on events, with real programs: a tracepoint with a filter, a probe in the C library, a
# hardware breakpoint in a shell, an OOM kill in a cgroup, a rate. Each makes a dump when it should
# and none when it should not, the dump has the matching values, and the recorder sleeps while
# nothing matches.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# A small recording: the test is about the rules.
some="-C $pair -m 64K -e sched:sched_switch"

nr_paths() {
	wc -l <"$work/out"
}

has_paths() {
	[ "$(nr_paths)" -ge "$1" ]
}

# saw FILE PATTERN: a line among the values that the rule saw
saw() {
	info_json "$1" '.trigger.saw[]' | grep -q -- "$2"
}

# path N: the N-th dump of this recorder
path() {
	sed -n "$1p" "$work/out"
}

# Programs with names that no other process has.
cp /usr/bin/date "$work/rb-date"
cp "$(readlink -f /usr/bin/bash)" "$work/rb-bash"
# A C library that only this test's programs use.
libc=$work/lib/libc.so.6
mkdir "$work/lib"
cp "$(ldd /usr/bin/getent | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')" "$libc"
look_up() {
	LD_LIBRARY_PATH=$work/lib getent "$@" >/dev/null
}

# --- events that do not match wake no thread ---
# Records the load alone, so that the sideband has no records of other processes; the rules watch
# all.
in_background "$loads/load_switch" 900 >"$work/load"
load=$bg_pid
wait_for 20 grep -q ready "$work/load"
watch=(-T "watch:$work/rb-bash:exit_shell")
[ "$("$RINGBACK" doctor --json | jq .capabilities.breakpoints)" = 1 ] || watch=()
rec_start -p "$load" -m 64K -e sched:sched_switch,sched:sched_wakeup,sched:sched_waking \
	-T "event:sched:sched_process_exec[filename ~ \"$work/rb-date\"]" -T 'event:sched:sched_switch[prev_comm == "rb-nobody"]' \
	"${watch[@]}" -T oom -T 'rate:sched:sched_switch>1000000000/s' -T "uprobe:$work/rb-date:0x4000"

# Waits until the recorder has read /proc and settled.
wait_for 20 eval '[ "$(cat /proc/$rec_pid/task/*/comm | grep -cx ringback)" = 1 ]'
sleep 1
w0=$(written)
n0=$(switches)
# Switches of the load's threads. Each goes with one wakeup.
load_switches() {
	cat /proc/"$load"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'
}
enough=$(($(load_switches) + 2500000))
load_has_switched() {
	[ "$(load_switches)" -ge $enough ]
}
wait_for 300 load_has_switched
n1=$(switches)
# An event takes at most 160 bytes.
events=$((($(written) - w0) / 160))
echo "# at least $events events while it slept; $((n1 - n0)) context switches"
check "more than 2 million events came that no rule matches" test "$events" -gt 2000000
# A CPU that goes on- or offline may wake the recorder, and migrate its threads.
check "the recorder was not switched to for them" test $((n1 - n0)) -le 5
equal "and made no dump" "" "$(cat "$work/out")"
rec_stop
kill "$load"
wait "$load" 2>/dev/null

# --- event: ---
# shellcheck disable=SC2086
rec_start $some --cooldown 0 -T 'event:sched:sched_process_exec[filename ~ "*/rb-date"];name=date' \
	-T "uprobe:$libc:getaddrinfo;name=lookup"
/usr/bin/date >/dev/null
cp "$work/rb-date" "$work/rb-date2"
"$work/rb-date2" >/dev/null
look_up passwd root
sleep 0.5
equal "other programs and other functions are no hits" 0 "$(nr_paths)"
"$work/rb-date" >/dev/null
check "the program that the filter names makes a dump" wait_for 10 has_paths 1
check "of the rule's name" grep -q -- '-date\.rbd$' <<<"$(path 1)"
check "which says what was started" saw "$(path 1)" "^filename=$work/rb-date$"
equal "by whom" rb-date "$(info_json "$(path 1)" .trigger.comm)"
check "report says it, too" eval '"$RINGBACK" report "$(path 1)" | grep -q "filename=.*rb-date"'
check "and passes check" "$RINGBACK" check "$(path 1)"

# --- uprobe: ---
look_up ahosts localhost
check "a call of a library's function makes a dump" wait_for 10 has_paths 2
check "of the rule's name" grep -q -- '-lookup\.rbd$' <<<"$(path 2)"
check "which has its arguments" saw "$(path 2)" '^arg1=0x'
equal "and its caller" getent "$(info_json "$(path 2)" .trigger.comm)"
rec_stop
# shellcheck disable=SC2086
rec_start $some -T "uretprobe:$libc:getaddrinfo"
look_up ahosts localhost
check "its return makes a dump" wait_for 10 has_paths 1
check "with the result" saw "$(path 1)" '^returned=0'
rec_stop

# --- stack= ---
# The C library is built without frame pointers; its part of the copied stack is unwound by its
# tables.
# shellcheck disable=SC2086
rec_start $some -T "uprobe:$libc:getaddrinfo;stack=dwarf:16K"
look_up ahosts localhost
check "a copied stack makes a dump" wait_for 10 has_paths 1
stack=$(info_json "$(path 1)" .trigger.stack)
echo "# $stack"
check "which is unwound to where the thread began" grep -q 'getaddrinfo.*__libc_start_call_main\|getaddrinfo.*_start' <<<"$stack"
rec_stop
# A program with frame pointers that the C library calls back: the callback's caller is missing only
# when unwinding follows nothing but frame pointers.
cat >"$work/sort.c" <<'END'
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) static int sort(int *v) { qsort(v, 2, sizeof(*v), compare); return v[0]; }
int main(void) { int v[2] = {2, 1}; return sort(v) - 1; }
END
gcc -O1 -fno-omit-frame-pointer -o "$work/rb-sort" "$work/sort.c"
# called_back OPTION: sets $called, the dump of a rule on the callback
called_back() {
	# shellcheck disable=SC2086
	rec_start $some -T "uprobe:$work/rb-sort:compare$1"
	"$work/rb-sort"
	check "a function that the C library calls makes a dump${1:+ ($1)}" wait_for 10 has_paths 1
	rec_stop
	called=$(path 1)
}
whole='compare .*<- .*<- sort .*<- main'
called_back ""
for view in report why info; do
	"$RINGBACK" $view "$called" | tr -s '\n ' ' ' >"$work/view"
	check "$view has its whole stack, through the C library" grep -q "$whole" "$work/view"
done
called_back ";stack=fp"
stack=$(info_json "$called" .trigger.stack)
echo "# by frame pointers: $stack"
check "stack=fp has what frame pointers lead to" grep -q '^compare' <<<"$stack"

# --- watch: ---
# Not all hypervisors pass debug registers to a guest: where no breakpoint fires, the recorder
# refuses the rule.
if [ ${#watch[@]} != 0 ]; then
	# shellcheck disable=SC2086
	rec_start $some -T "watch:$work/rb-bash:exit_shell;name=leaves"
	mkfifo "$work/shell"
	"$work/rb-bash" --norc <"$work/shell" &
	shell=$!
	exec 7>"$work/shell"
	echo 'cd /; :; /bin/true' >&7
	sleep 0.5
	equal "a shell that runs is no hit of a breakpoint on its end" 0 "$(nr_paths)"
	echo 'exit 3' >&7
	exec 7>&-
	check "its end is" wait_for 10 has_paths 1
	check "and the dump says what was watched" saw "$(path 1)" '^watch=.*rb-bash:exit_shell$'
	equal "and where" "$shell" "$(info_json "$(path 1)" .trigger.pid)"
	wait "$shell" 2>/dev/null
	rec_stop
else
	check "breakpoints that never fire are refused" eval '! "$RINGBACK" record --config /dev/null -o "$work" $some \
		-T "watch:$work/rb-bash:exit_shell" 2>"$work/no" && grep -q "never fire on this machine" "$work/no"'
fi

# --- oom ---
# limited MOUNT: creates a cgroup with little memory in it; sets $cgroup
limited() {
	cgroup=$1/ringback-test-$$
	mkdir "$cgroup" 2>/dev/null || return 1
	{ echo 20M >"$cgroup/memory.max"; } 2>/dev/null || { echo 20M >"$cgroup/memory.limit_in_bytes"; } 2>/dev/null ||
		! rmdir "$cgroup"
}
cgroup=
for mount in $(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p; s/^[^ ]* \([^ ]*\) cgroup .*[ ,]memory[ ,].*/\1/p' /proc/mounts); do
	! limited "$mount" || break
	cgroup=
done
take="x = bytearray(80 << 20); print(len(x))"
if [ -z "$cgroup" ]; then
	skip "an OOM kill makes a dump" "no cgroup with a memory limit can be made here"
else
	at_end+=("rmdir $cgroup")
	{ echo 0 >"$cgroup/memory.swap.max" || echo 20M >"$cgroup/memory.memsw.limit_in_bytes"; } 2>/dev/null
	# shellcheck disable=SC2086
	rec_start $some -T oom
	python3 -c "$take" >/dev/null
	sleep 0.3
	equal "memory that is there is no hit" 0 "$(nr_paths)"
	bash -c "echo \$\$ >$cgroup/cgroup.procs && exec python3 -c '$take'" >"$work/oom" 2>&1 &
	victim=$!
	wait "$victim"
	check "an OOM kill makes a dump" wait_for 10 has_paths 1
	check "which says who was killed" saw "$(path 1)" "^killed=python3, pid $victim$"
	equal "and is about it" "$victim" "$(info_json "$(path 1)" .trigger.pid)"
	check "and has its size" saw "$(path 1)" '^anon_rss=[0-9.]*[MK]$'
	equal "and whose limit that was" "20971520 true" \
		"$(info_json "$(path 1)" ".cgroups[] | select(.path == \"/${cgroup##*/}\") | \"\(.memory_limit_bytes) \(.oom_kills > 0)\"")"
	check "which why tells" grep -q "^python3 ($victim) was killed by the OOM killer: control group /${cgroup##*/} reached its memory limit of 20 MiB" \
		<("$RINGBACK" why "$(path 1)")
	rec_stop
fi

# --- rate: ---
# forks COUNT PAUSE: processes started by a process named rb-bash
forks() {
	"$work/rb-bash" -c "for ((i = 0; i < $1; i++)); do (:); $2; done"
}
# shellcheck disable=SC2086
rec_start $some -T 'rate:sched:sched_process_fork[parent_comm == "rb-bash"]>40/s;name=forks'
# Each sleep is a fork too.
forks 25 "sleep 0.1"
equal "20 forks a second are not above 40" 0 "$(nr_paths)"
forks 2000 :
check "hundreds are" wait_for 10 has_paths 1
check "the dump says how many" saw "$(path 1)" '^value=[0-9]*/s$'
check "and what was allowed" saw "$(path 1)" '^threshold=40/s$'
equal "and who it was" rb-bash "$(info_json "$(path 1)" .trigger.comm)"
rec_stop
equal "the recorder ends with 0" 0 "$rec_status"

# --- rules that can't be watched ---
fails() { # WHAT RULE
	# shellcheck disable=SC2086
	! "$RINGBACK" record --config /dev/null --memory 0 -o "$work" $some -T "$2" 2>"$work/no" || return 1
	cat "$work/no"
	grep -q -- "$1" "$work/no" && grep -q hint: "$work/no"
}
refused() { # WHAT RULE
	check "refused, and what to type is said: ${2%%:/*}" fails "$1" "$2"
}
refused "has no event" 'event:sched:no_such'
refused "refuses the filter" 'event:sched:sched_switch[no_such == 1]'
refused "comes all the time" 'event:sched:sched_switch'
refused "has no function" 'uprobe:/usr/bin/bash:readlin'
refused "no function and no variable" "watch:$work/rb-bash:no_such"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: it takes CPUs and memory from everybody
# TIMEOUT: 400
#
# Rules that measure (psi, mem, load, rss, cpu), that wait for a time (every), for the end of a
# process (exit) or for lines in a file (file), under real load. Each fires when it should and not
# just below its threshold. Also counts how often they wake the recorder.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

load=$loads/load_measure
# Records one idle process, so that only the rules wake the recorder.
sleep 1000 &
idle=$!
small=(-p "$idle" -m 64K -e page-faults --symbols=off)
unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)

# load NAME [COMMAND...]: starts a load_measure by COMMAND...; tell NAME sends it commands;
# ${pids[NAME]}
declare -A pids fds
load() {
	local name=$1 fd

	shift
	mkfifo "$work/$name.fifo"
	"$@" "$load" <"$work/$name.fifo" >"$work/$name.out" &
	pids[$name]=$!
	exec {fd}>"$work/$name.fifo"
	fds[$name]=$fd
}

tell() { # NAME COMMAND...
	echo "${*:2}" >&"${fds[$1]}"
}

unload() { # NAME: it ends
	kill "${pids[$1]}" 2>/dev/null
	wait "${pids[$1]}" 2>/dev/null
	eval "exec ${fds[$1]}>&-"
	rm -f "$work/$1.fifo"
}

# fresh RULE...: a new recorder with these rules
fresh() {
	local rules=() r

	for r; do rules+=(-T "$r"); done
	rm -f "$work"/dumps/*
	rec_start "${small[@]}" "${rules[@]}" || not_ok "a recorder with $* starts" "$(cat "$work/err")"
}

# fired NAME [COUNT]: the rule has COUNT dumps or more
fired() {
	[ "$(grep -c -- "-$1\.rbd$" "$work/out")" -ge "${2-1}" ]
}

# hits NAME: number of the rule's hits
hits() {
	[ "$("$RINGBACK" status --json | jq '[.rules[] | select(.name == "'"$1"'") | .hits] | add')" -gt 0 ]
}

# saw NAME PATTERN: the rule's first dump has a line that matches
saw() {
	info_json "$(grep -m 1 -- "-$1\.rbd$" "$work/out")" '.trigger.saw[]' >"$work/saw"
	grep -qE -- "$2" "$work/saw" || {
		cat "$work/saw"
		return 1
	}
}

# silent NAME SECONDS: the rule makes no dump for so long
silent() {
	local before now

	before=$(grep -c -- "-$1\.rbd$" "$work/out")
	sleep "$2"
	now=$(grep -c -- "-$1\.rbd$" "$work/out")
	[ "$before" = "$now" ]
}

# none NAME: no dump of the rule so far
none() {
	! fired "$1"
}

# moment NAME: time of the rule's first hit that made a dump, in ns
moment() {
	info_json "$(grep -m 1 -- "-$1\.rbd$" "$work/out")" .trigger.time
}

# later SECONDS NAME OTHER: the other rule fired at least so much later
later() {
	[ $(($(moment "$3") - $(moment "$2"))) -ge $(($1 * 1000000000)) ]
}

# --- mem: thresholds relative to the memory available now; 1/64 is not enough, 1/8 is ---
available() {
	awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo
}

# below_again MIB: frees all memory, waits until the rule has seen it, and allocates again
below_again() {
	local i

	tell eater free
	sleep 2.5
	tell eater eat "$1"
	for ((i = 0; i < 100; i++)); do
		! fired below 2 || return 0
		sleep 0.1
	done
	return 1
}

memory() {
	local mib

	load eater
	mib=$(available)
	fresh "mem:available<$((mib * 15 / 16))M;hysteresis=2%;name=below" "mem:available<$((mib * 15 / 16))M;for=3s;name=lasting" \
		"mem:available<$((mib / 2))M;name=far" "mem:Mlocked>90%;name=above"
	tell eater eat $((mib / 64))
	check "mem: does not fire above the threshold" silent below 3
	tell eater eat $((mib / 8))
	check "mem: fires below" wait_for 20 fired below
	check "when it has lasted as long as for= says" wait_for 20 fired lasting
	check "and not before" later 2 below lasting
	check "one hit an excursion" test "$(grep -c -- '-below\.rbd$' "$work/out")" = 1
	check "and another after it was back" wait_for 60 below_again $((mib / 8))
	tell eater free
	check "what was seen is in the dump" saw below "^value=[0-9.]+[MG]\$"
	check "and of what" saw below '^of=MemAvailable$'
	check "a rule that was not met made no dump" test "$(grep -cE -- '-(far|above)\.rbd$' "$work/out")" = 0
	rec_stop
	unload eater
}

# --- rss ---
size() {
	load eater
	fresh "rss:${pids[eater]}>100M;name=rss" "rss:$idle>100M;name=other"
	tell eater eat 80
	check "rss: does not fire below the threshold" silent rss 3
	tell eater eat 40
	check "rss: fires above" wait_for 20 fired rss
	check "the process is named" saw rss '^comm=load_measure$'
	check "with what it had" saw rss '^value=1[0-9][0-9]\.[0-9]*M$'
	equal "the dump is about it" "${pids[eater]}" "$(info_json "$(head -n 1 "$work/out")" .trigger.pid)"
	check "another process is not confused with it" none other

	# Another process gets its pid and takes as much memory: the rule must not measure it.
	unload eater
	in_background with_pid "${pids[eater]}" python3 -c 'import time; held = bytearray(b"x") * (300 << 20); time.sleep(6)'
	check "its end disarms the rule, with a message" wait_for 20 grep -q "process ${pids[eater]} (load_measure) has ended" "$work/err"
	check "another that gets its pid is not measured" silent rss 4
	check "the message comes once" test "$(grep -c 'has ended' "$work/err")" = 1
	check "status says that the rule is disarmed" \
		test "$("$RINGBACK" status --json | jq '[.rules[] | select(.name == "rss") | .armed] | any')" = false
	wait "$bg_pid" || echo "# the pid could not be given again"
	rec_stop
}

# --- cpu ---
cpu_time() {
	# Real-time priority: a nice value would count within its session only.
	load burner chrt -r 1
	fresh "cpu:${pids[burner]}>75%/2s;name=cpu" "cpu:$idle>5%/1s;name=idle"
	tell burner burn 40
	check "cpu: does not fire below the threshold" silent cpu 4
	tell burner burn 100
	check "cpu: fires above" wait_for 20 fired cpu
	check "the share that was used" saw cpu '^value=(7[5-9]|[89][0-9]|100)\.[0-9]%/2 s$'
	check "a process that sleeps uses none" none idle
	unload burner
	check "its end disarms the rule" wait_for 20 grep -q "process ${pids[burner]} (load_measure) has ended" "$work/err"
	rec_stop
}

# --- load ---
many() {
	local now burners i

	burners=()
	now=$(cut -d' ' -f1 /proc/loadavg)
	fresh "load>$(bc <<<"$now + 1.5");name=load" "load>$(bc <<<"$now + 100");name=high"
	for ((i = 0; i < ${now%.*} + 24; i++)); do # the load average may still be high, and fall
		in_background nice sh -c 'while :; do :; done'
		burners+=("$bg_pid")
	done
	check "load> fires when many want to run" wait_for 30 fired load
	kill "${burners[@]}"
	wait "${burners[@]}" 2>/dev/null
	check "the load is in the dump" saw load '^value=[0-9]+\.[0-9]+$'
	check "a threshold that was not reached made no dump" test "$(grep -c -- '-high\.rbd$' "$work/out")" = 0
	rec_stop
}

# --- psi ---
# new_cgroup: sets $cgroup, below the unified mount, or fails
new_cgroup() {
	cgroup=ringback-$$-$RANDOM
	[ -n "$unified" ] && mkdir "$unified/$cgroup" 2>/dev/null && [ -e "$unified/$cgroup/cpu.pressure" ] &&
		at_end+=("rmdir $unified/$cgroup 2>/dev/null")
}

# in_cgroup COMMAND...: replaces the (background) shell
in_cgroup() {
	# shellcheck disable=SC2016
	exec sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$unified/$cgroup" "$@"
}

# both COMMAND: sends it to both loads
both() {
	tell one "$@"
	tell two "$@"
}

pressure() {
	local burners=() i

	if [ ! -e /proc/pressure/cpu ]; then
		skip "psi: pressure of the machine" "this kernel has no /proc/pressure"
	else
		fresh 'psi:cpu:some>400ms/2s;name=machine'
		for ((i = 0; i < 3 * $(nproc); i++)); do
			in_background sh -c 'while :; do :; done'
			burners+=("$bg_pid")
		done
		check "psi:cpu fires when more want to run than can" wait_for 30 fired machine
		kill "${burners[@]}"
		wait "${burners[@]}" 2>/dev/null
		check "what the kernel watched" saw machine '^pressure=cpu:some$'
		check "and what it says besides" saw machine '^avg10=[0-9.]+%$'
		rec_stop
	fi
}

pressure_of_cgroup() {
	if ! new_cgroup; then
		skip "psi: pressure of a cgroup" "no cgroup v2 that could be used"
	else
		# Two loads on one CPU, at real-time priority, so that they wait only for each
		# other.
		load one in_cgroup chrt -r 1 taskset -c 0
		load two in_cgroup chrt -r 1 taskset -c 0
		fresh "psi:cpu:some:/$cgroup>1700ms/2s;name=cgroup" "psi:cpu:some:$unified/$cgroup>1700ms/2s;for=3s;name=lasting"
		both burn 20
		check "psi: does not fire below the threshold" silent cgroup 5
		both burn 100
		check "psi: fires above" wait_for 20 fired cgroup
		check "for= lets it wait, and then fire" wait_for 20 fired lasting
		check "not before its time" later 2 cgroup lasting
		check "one hit an excursion" test "$(grep -c -- '-cgroup\.rbd$' "$work/out")" = 1
		check "the cgroup is in the dump" saw cgroup "^cgroup=/$cgroup\$"
		unload one
		unload two
		wait_for 10 rmdir "$unified/$cgroup"
		check "a cgroup that is removed disarms its rules" wait_for 10 grep -q 'the cgroup was removed' "$work/err"
		rec_stop
	fi
}

# memory_limit MIB: the memory limit of the cgroup; v1 has a hierarchy of its own
memory_limit() {
	local v1

	v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	if [ -n "$v1" ]; then
		mkdir "$v1/$cgroup" || return
		at_end+=("rmdir $v1/$cgroup 2>/dev/null")
		memory_procs=$v1/$cgroup/cgroup.procs
		echo $(($1 << 20)) >"$v1/$cgroup/memory.limit_in_bytes"
	else
		memory_procs=$unified/$cgroup/cgroup.procs
		echo +memory >"$unified/cgroup.subtree_control" 2>/dev/null
		echo $(($1 << 20)) >"$unified/$cgroup/memory.max"
	fi
}

pressure_of_memory() {
	local f

	if ! new_cgroup || ! memory_limit 32 2>/dev/null; then
		skip "psi:memory of a cgroup with a limit" "no memory controller that could be used"
	else
		head -c $((16 << 20)) /dev/zero >"$work/little"
		head -c $((128 << 20)) /dev/zero >"$work/much"
		# Drops the files from the page cache, where pages would be charged to another
		# cgroup.
		for f in little much; do dd if=/dev/zero of="$work/$f" oflag=nocache conv=notrunc,fdatasync count=0 status=none; done
		load one in_cgroup
		echo "${pids[one]}" >"$memory_procs"
		fresh "psi:memory:some:/$cgroup>60ms/2s;name=memory" "psi:memory:full:/$cgroup>60ms/2s;name=full"
		tell one thrash "$work/little"
		check "psi:memory does not fire within the limit" silent memory 5
		tell one thrash "$work/much"
		check "psi:memory fires when pages go and come back" wait_for 20 fired memory
		# At the same moment, so it is merged into that dump.
		check "full too, for nobody else is there" wait_for 20 hits full
		tell one sync "$work/synced"
		unload one
		rec_stop
		rm -f "$work/little" "$work/much"
	fi
}

# --- every ---
every() {
	local times

	fresh 'every:1s;name=clock' 'every:1h;name=hour'
	check "every: fires each time" wait_for 20 fired clock 4
	check "and not before its time" test "$(grep -c -- '-hour\.rbd$' "$work/out")" = 0
	# The recorder may wake late, but mostly does not.
	times=$(while read -r f; do info_json "$f" .trigger.time; done <"$work/out" | sort -n | awk '
		NR > 1 { print $1 - last }
		{ last = $1 }' | sort -n)
	check "a second apart" awk -v all="$(echo $times)" 'BEGIN {
		n = split(all, t, " ")
		exit !(n >= 3 && t[int((n + 1) / 2)] > 9e8 && t[int((n + 1) / 2)] < 2.2e9)
	}'
	rec_stop
}

# --- exit ---
# of_command RULE COMMAND...: sets $status; its dumps are in $work/out
of_command() {
	"$RINGBACK" record --config /dev/null --memory 0 -m 64K -e page-faults -o "$work/dumps" -T "$1" -- "${@:2}" >"$work/out" 2>"$work/err"
	status=$?
}

exits() {
	local status

	load quick
	load good
	fresh "exit:${pids[quick]};name=any" "exit:${pids[good]}!=0;name=bad" "exit:$idle;name=idle"
	tell good exit 0
	check "exit:PID!=0 is not met by 0" wait_for 20 grep -q "process ${pids[good]} (load_measure) has ended" "$work/err"
	tell quick exit 3
	check "exit:PID fires when it ends" wait_for 20 fired any
	check "with its status" saw any '^status=(3|unknown)$'
	check "no other rule does" test "$(wc -l <"$work/out")" = 1
	rec_stop
	unload quick
	unload good

	of_command 'exit!=0;name=bad' sh -c 'exit 0'
	equal "exit!=0 is not met by a command that ends well" "0 0" "$status $(wc -l <"$work/out")"
	of_command 'exit!=0;name=bad' sh -c 'exit 7'
	equal "it is met by one that does not, which keeps its status" "7 1" "$status $(wc -l <"$work/out")"
	check "with its status" saw bad '^status=7$'
	# shellcheck disable=SC2016
	of_command 'exit>128;name=killed' sh -c 'kill -SEGV $$'
	check "a signal ends it" saw killed '^signal=SIGSEGV$'
	of_command 'exit>7;name=bad' sh -c 'exit 7'
	equal "exit>7 is not met by 7" "7 0" "$status $(wc -l <"$work/out")"
}

# --- file ---
lines() {
	local log=$work/app.log

	echo 'ERROR before' >"$log"
	load writer
	fresh "file:$log~^ERROR .*[0-9]\$;name=log" "file:$work/later.log~ERROR;name=later"
	tell writer append "$log" ERROR without a number
	check "file: does not fire for other lines, nor for what was there" silent log 1
	tell writer append "$log" ERROR 1
	check "file: fires for one that matches" wait_for 20 fired log
	check "which is in the dump" saw log '^line=ERROR 1$'
	mv "$log" "$log.1"
	tell writer append "$log" ERROR 2
	check "the file may be rotated" wait_for 20 fired log 2
	tell writer append "$work/later.log" ERROR
	check "or come later" wait_for 20 fired later
	rec_stop
	unload writer
}

# --- wake-ups ---
# Counts voluntary switches, one per sleep. Involuntary ones depend on the machine.
slept() {
	awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$rec_pid/task/$rec_pid/status"
}
wakeups() {
	"$RINGBACK" status --json | jq '.sideband.wakeups'
}

# sleeps SECONDS: sets $woken, wake-ups by rules, and $elapsed, the seconds that passed, which are
# more when all CPUs are busy
sleeps() {
	local before side began

	sleep 2
	side=$(wakeups)
	sleep 0.5 # it answered, and sees us go
	before=$(slept)
	began=$SECONDS
	sleep "$1"
	woken=$(($(slept) - before))
	elapsed=$((SECONDS - began))
	woken=$((woken - ($(wakeups) - side)))
}

sleeping() {
	local rules

	touch "$work/app.log"
	rules=("file:$work/app.log~ERROR;name=log" "file:$work/never~ERROR;name=never" "exit:$idle" 'every:1h')
	[ ! -e /proc/pressure/memory ] || rules+=('psi:memory:some>1900ms/2s' 'psi:memory:full>1900ms/2s' 'psi:io:full>1900ms/2s')
	fresh "${rules[@]}"
	# Without CAP_SYS_RESOURCE the kernel reports psi once without need, and the machine may be
	# under pressure from other programs.
	for _ in 1 2 3; do
		sleeps 8
		echo "# ${#rules[@]} rules: $woken wake-ups in 8 s"
		[ "$woken" -gt 0 ] || break
	done
	check "psi, exit, file and every do not wake it while nothing happens" test "$woken" -le 0
	rec_stop
}

looking() {
	fresh 'mem:available<1M' 'mem:SReclaimable<1K' 'mem:Dirty>90%' 'load>100000' "rss:$idle>500M" "cpu:$idle>50%/5s" "cpu:$$>99%/3s" 'every:1h'
	sleeps 12
	echo "# 8 rules that look: $woken wake-ups in 12 s"
	check "rules that look wake it at most once a second, all together" test "$woken" -le $((elapsed + 1))
	rec_stop
}

looking_seldom() {
	fresh 'mem:available<1M' 'load>100000' "rss:$idle>80%"
	sleeps 12
	echo "# mem, load and rss far from their thresholds: $woken wake-ups in 12 s"
	check "far from their thresholds they look less often" test "$woken" -le 8
	rec_stop
}

# Loads that burn CPU time at real-time priority run one after the other. Memory pressure comes when
# no other part needs its absence.
with_priority() {
	cpu_time
	pressure_of_cgroup
}
machine() {
	sleeping
	pressure_of_memory
}
crowds() {
	many
	pressure
}
side_by_side memory size with_priority machine crowds every exits lines looking looking_seldom
kill "$idle"
wait "$idle" 2>/dev/null
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# In the guest, under systemd: the service as `make install` installs it, with every option of its
# configuration enabled and rules of each kind. Each way to a dump works within the unit's sandbox,
# the service logs no warning, and it restores what it changed.
. tests/helpers/tap.sh

conf=/etc/ringback/ringback.conf
dumps=/var/lib/ringback
work=/var/tmp/unit
setting=/proc/sys/kernel/core_pattern
loads=$RINGBACK_BUILD/tests
dropin=/etc/systemd/system/ringback.service.d
mkdir -p $work $dropin
cp /usr/share/doc/ringback/crash-hold.conf $dropin/
systemctl daemon-reload

# wait_for COMMAND...: until the command succeeds, for a minute at most
wait_for() {
	local end=$((SECONDS + 60))

	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# configure: every option of the example, with short times, and rules of each kind
configure() {
	sed -E "s/^#([^ ])/\1/; s/^cooldown = .*/cooldown = 1ms/; s/^post = .*/post = 10ms/; s,^spill = .*,spill = $dumps/spill,; s,^on-dump = .*,on-dump = :," /usr/share/doc/ringback/ringback.conf
	cat <<-END

		[trigger call]
		rule = latency:$loads/load_calls:calls_one>10ms
		[trigger called]
		rule = uprobe:$loads/load_calls:calls_one
		cooldown = 1h
		[trigger fsync]
		rule = syscall:fsync>1us
		cooldown = 1h
		[trigger queue]
		rule = runqueue>1s
		[trigger asleep]
		rule = offcpu:nobody>1s
		[trigger log]
		rule = file:$work/log~broken
		[trigger pressure]
		rule = psi:cpu:some>900ms/1s
		[trigger free]
		rule = mem:available<1M
		[trigger group]
		rule = event:cgroup:cgroup_mkdir
		[trigger many]
		rule = rate:sched:sched_switch>1000000/s
		[trigger big]
		rule = rss:1>1G
	END
}

property() {
	systemctl show -P "$1" ringback
}

is_property() { # NAME VALUE
	[ "$(property "$1")" = "$2" ]
}

# said: the service's log since the guest started
said() {
	journalctl --sync
	journalctl -q -o cat -t ringback
}

says() {
	said | grep -q "$1"
}

is_pattern() {
	[ "$(cat $setting)" = "$1" ]
}

# made KIND: number of dumps of that trigger
made() {
	find $dumps -name "*-$1.rbd" | wc -l
}

has_made() {
	[ "$(made "$1")" -gt "$2" ]
}

# fires KIND COMMAND...: the command leads to one more dump of that trigger
fires() {
	local kind=$1 nr

	nr=$(made "$kind")
	shift
	"$@"
	wait_for has_made "$kind" "$nr"
}

last() {
	find $dumps -name "*-$1.rbd" | sort | tail -n 1
}

# crash USER: a process of eight threads crashes in a directory of its own and leaves a core
crash() {
	mkdir -p "$work/$1"
	chown "$1" "$work/$1"
	(cd "$work/$1" && ulimit -c unlimited && exec setpriv --reuid "$1" --clear-groups "$loads/load_crew" segv) >/dev/null 2>&1
}

# held DUMP: the number of threads in the process. How many stacks are taken before the process is
# released, after 250 ms, depends on the machine: "6 of 8".
held() {
	ringback info --json "$1" | jq -r '.trigger.saw[] | select(startswith("threads=")) | sub("threads=([0-9]* of )?"; "")'
}

tell_as_member() {
	setpriv --reuid 65534 --regid 65534 --groups 4 "$loads/load_tell" trigger "a member says so" >/dev/null
}

sync_file() {
	dd if=/dev/zero of=$work/file count=1 conv=fsync status=none
}

make_group() {
	mkdir /sys/fs/cgroup/unit && rmdir /sys/fs/cgroup/unit
}

write_line() {
	echo "it is broken" >>$work/log
}

check_all() {
	local path

	for path in "$dumps"/*.rbd; do
		ringback check "$path" || return
	done
}

echo core >$setting
configure >$conf
echo "mistake = yes" >>$conf
check "a mistake in the configuration: start fails" eval '! systemctl start ringback'
equal "and it is not started again and again" "failed 0" "$(property ActiveState) $(property NRestarts)"
configure >$conf
systemctl reset-failed ringback
check "systemctl start" systemctl start ringback
equal "it is active" active "$(property ActiveState)"
[ "$(property ActiveState)" = active ] || journalctl -u ringback | tail -n 20
check "and records" ringback status
journalctl --sync
begun=$(journalctl -q -n 1 --show-cursor -o cat | sed -n 's/^-- cursor: //p')
equal "in real time, to freeze the rings in time" 1 "$(sed 's/.*) //' "/proc/$(property MainPID)/stat" | cut -d' ' -f39)"
check "crashes come to it" grep -q "$(uname -r | awk -F. '{ print $1 > 6 || $1 == 6 && $2 > 15 ? "^@" : "^|.*crash-handler" }')" $setting

check "ringback trigger" ringback trigger --reason "the service works"
check "systemctl kill -s USR2" fires SIGUSR2 systemctl kill --kill-who=main -s USR2 ringback
check "rule signal" fires app systemctl kill --kill-who=main -s USR1 ringback
check "a program of root's" fires program "$loads/load_tell" trigger "root says so"
check "a program of a member of tell-group" fires program tell_as_member
for user in root nobody; do
	check "a crash of $user's is dumped" fires crash crash $user
	equal "with all threads" 8 "$(held "$(last crash)")"
	equal "and its core is $user's" "$user" "$(stat -c %U "$work/$user/core")"
done
check "rule uprobe" fires called "$loads/load_calls" now 1
check "rule latency" fires call "$loads/load_calls" now 50
check "rule syscall" fires fsync sync_file
check "rule file" fires log write_line
check "rule event" fires group make_group

echo 0 >/sys/devices/system/cpu/cpu1/online
check "a CPU goes offline" wait_for says 'CPU 1 went offline'
echo 1 >/sys/devices/system/cpu/cpu1/online
check "and comes back" wait_for says 'CPU 1 came online and is recorded'
check "systemctl reload" systemctl reload ringback
check "reads the rules anew" wait_for says 'were read again'
check "each dump passes check" check_all
equal "nothing was warned of" "" "$(journalctl -q -p warning -o cat -t ringback --after-cursor "$begun" | grep -v ' of history,')"
equal "it was never started again" 0 "$(property NRestarts)"

systemctl kill -s KILL ringback
check "killed with all of its processes it is started again" wait_for is_property NRestarts 1
check "and records" wait_for is_property ActiveState active
check "systemctl stop" systemctl stop ringback
equal "ends it with 0" "success 0" "$(property Result) $(property ExecMainStatus)"
check "kernel.core_pattern is what it was" is_pattern core
rm -r $dropin
systemctl daemon-reload
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# In the guest, under systemd: the life of the service as it is shipped, without crash-hold:
# enabled, asked for a dump, reloaded, killed, hung, upgraded, disabled and removed. What it says is
# in the journal with its fields, and it leaves nothing behind.
. tests/helpers/tap.sh

conf=/etc/ringback/ringback.conf
runtime=/run/systemd/system/ringback.service.d
setting=/proc/sys/kernel/core_pattern

# wait_for COMMAND...: until the command succeeds, for a minute at most
wait_for() {
	local end=$((SECONDS + 60))

	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# property NAME: of the service
property() {
	systemctl show -P "$1" ringback
}

is_property() { # NAME VALUE
	[ "$(property "$1")" = "$2" ]
}

# runs_again NR: it was started again NR times and records
runs_again() {
	wait_for is_property NRestarts "$1" && wait_for is_property ActiveState active
}

# entry ID FIELD: that field of the newest entry with that message id
entry() {
	journalctl --sync
	journalctl -q -u ringback -o json -n 1 MESSAGE_ID="$1" | jq -r ".$2"
}

# id TEXT: the message id that the man page lists with that text
id() {
	grep -A1 '^\.It Li [0-9a-f]\{32\}$' /usr/share/man/man1/ringback-record.1 | grep -B1 "^$1" | sed -n 's/^\.It Li //p'
}

# run NAME: a process of that name, which ends at once
run() {
	cp /usr/bin/sleep "/var/tmp/$1"
	"/var/tmp/$1" 0
}

# ran NAME: the next dump has it
ran() {
	local dump

	dump=$(ringback trigger) || return
	ringback script "$dump" | grep -q "^ *$1 .*sched:sched_process_exec"
}

# system: what the recorder might leave changed
system() {
	cat $setting /proc/sys/kernel/perf_event_paranoid /sys/kernel/tracing/{uprobe,kprobe}_events /proc/mounts
	find /run/ringback /run/ringback.tell -type s 2>/dev/null
	pgrep -x ringback
}

systemctl reset-failed ringback 2>/dev/null
: >$conf
mkdir -p /run/ringback /run/ringback.tell
systemctl start sys-kernel-tracing.mount
before=$(system)
check "systemctl enable --now" systemctl enable --now ringback
equal "it is enabled and active" "enabled active" "$(systemctl is-enabled ringback) $(property ActiveState)"
check "its status has a text" grep -q '^recording default: [0-9]* rules; 0 dumps$' <<<"$(property StatusText)"
equal "the journal knows when recording began" "recording 6 default" \
	"$(entry "$(id "Recording began")" '| "\(.MESSAGE) \(.PRIORITY) \(.RINGBACK_NAME)"')"

path=$(ringback trigger --reason "look here")
check "ringback trigger" test -s "$path"
check "the dump passes check" ringback check "$path"
equal "the journal has it, with its rule and reason" "$path manual look here 0" \
	"$(entry "$(id "A dump was written")" '| "\(.RINGBACK_DUMP) \(.RINGBACK_RULE) \(.RINGBACK_REASON) \(.RINGBACK_LOST)"')"
check "the status has it" wait_for eval '[[ $(property StatusText) == *"; 1 dump, last $path" ]]'
equal "nothing was warned of" "" "$(journalctl -q -u ringback -p warning -o cat -b -t ringback _PID="$(property MainPID)")"

printf '[trigger usr]\nrule = signal:USR1\n' >$conf
check "systemctl reload" systemctl reload ringback
check "tells when it has ended" wait_for eval '[ "$(entry "$(id "Rules and limits")" PRIORITY)" = 6 ]'
check "and is active after it" wait_for is_property ActiveState active
check "a new rule works" eval 'kill -USR1 "$(property MainPID)" && wait_for eval "ls /var/lib/ringback/*-usr.rbd"'

restarts=$(property NRestarts)
run before-kill
kill -KILL "$(property MainPID)"
check "killed it is started again" runs_again $((restarts + 1))
check "and its first dump reaches back before" ran before-kill
equal "by the keeper, which runs on" "active 0" "$(systemctl show -P ActiveState ringback-keeper) $(systemctl show -P NRestarts ringback-keeper)"

mkdir -p $runtime
printf '[Service]\nWatchdogSec=2s\n' >$runtime/watchdog.conf
systemctl daemon-reload
systemctl restart ringback
sleep 5
equal "its watchdog is content" "0 active" "$(property NRestarts) $(property ActiveState)"
kill -STOP "$(property MainPID)"
check "hung it is started again" runs_again 1
rm -r $runtime
systemctl daemon-reload

cp /usr/bin/ringback /usr/bin/ringback.new
mv /usr/bin/ringback.new /usr/bin/ringback
run before-upgrade
check "a new version is started" systemctl restart ringback
check "and its first dump reaches back before the upgrade" ran before-upgrade
equal "which is the installed one" /usr/bin/ringback "$(readlink "/proc/$(property MainPID)/exe")"

check "systemctl disable --now" systemctl disable --now ringback
equal "ends it with 0" "success 0" "$(property Result) $(property ExecMainStatus)"
check "and the keeper with it" wait_for eval '[ "$(systemctl show -P ActiveState ringback-keeper)" = inactive ]'
rm /usr/bin/ringback /usr/lib/systemd/system/ringback{,-keeper}.service
systemctl daemon-reload
check "it is gone" eval '! systemctl cat ringback'
check "and leaves nothing behind" diff <(echo "$before") <(system)
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: it floods what every recorder hears of processes
#
# Names and mappings in hindsight: 2,000 processes of 5 ms each run while a flood overwrites the
# rings many times. Every sample in the dump has the right name, according to the kernel, and every
# user address has its mapping.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# field NAME LINE
field() {
	sed -n "s/.*\b$1=\(-\?[0-9]*\).*/\1/p" <<<"$2"
}

if ! rec_start -a -m 1M -g -e 'sched:sched_switch,sched:sched_wakeup,raw_syscalls:sys_enter[id==121]'; then
	not_ok "the recorder starts" "$(cat "$work/err")"
	tap_end
	exit
fi
in_background "$loads/load_switch" 900 >"$work/flood"
wait_for 20 grep -q ready "$work/flood"
check "2,000 processes live and die" "$loads/load_short" 2000
# Some more without the flood, which would overwrite them before a dump can be requested.
kill -STOP "$bg_pid"
check "and 20 more" "$loads/load_short" 20
path=$(dump_now)
kill -CONT "$bg_pid"
result=$("$loads/tool_comm" "$path")
while read -r line; do echo "# $line"; done <<<"$result"
status=$("$RINGBACK" status --json)
echo "# ledger: $(jq -c '.ledger' <<<"$status"), sideband: $(jq -c '.sideband' <<<"$status")"

check "the rings were overwritten many times" test \
	"$(info_json "$path" '[.rings[] | .overwritten_bytes / .ring_bytes] | min | floor')" -ge 10
check "there are samples of processes that have exited" test "$(field exited "$result")" -gt 100
check "every sample's name is the one the kernel knew" test "$(field wrong "$result")" = 0
check "there are samples with user addresses" test "$(field mapped "$result")" -gt 1000
check "every user address lies in a known mapping" test "$(field unmapped "$result")" = 0
# Tombstones are dropped as the rings move on.
few_tombstones() {
	[ "$("$RINGBACK" status --json | jq .ledger.tombstones)" -lt 2000 ]
}
check "tombstones do not pile up: fewer are kept than processes were started" wait_for 30 few_tombstones
check "nothing was evicted" test "$(jq '.ledger.evicted' <<<"$status")" = 0
rec_stop
kill "$bg_pid"

# /proc adds a work item's name to kernel workers: "kworker/u4:2-events_unbound". The kernel's comm
# has no room for that. A worker passes on what is written to a terminal, so this makes workers run.
workers_are_seen() {
	script -qc 'seq 20000' /dev/null >/dev/null
	"$loads/tool_comm" "$(dump_now)" >"$work/workers"
	[ "$(field kworkers "$(tail -n 1 "$work/workers")")" -ge 5 ]
}

# A kernel thread writes a file system's journal. It starts with the mount and ends with it, both
# too soon for a read of /proc. The mount is in a namespace that ends with the command.
mount_for_a_moment() {
	truncate -s 16M "$work/image"
	mkfs.ext4 -qF "$work/image" &&
		mkdir "$work/mounted" &&
		unshare -m sh -c 'mount -o loop "$1/image" "$1/mounted" && echo x >"$1/mounted/file" && sync -f "$1/mounted"' \
			- "$work"
}

if rec_start -a -m 8M -e sched:sched_switch; then
	check "the kernel's workers are at work" wait_for 60 workers_are_seen
	sed 's/^/# /' "$work/workers"
	check "their names are the ones the kernel knew" \
		test "$(field wrong_kworkers "$(tail -n 1 "$work/workers")")" = 0
	check "a kernel thread begins and ends while it records" mount_for_a_moment
	path=$(dump_now)
	journal=$("$RINGBACK" script "$path" | grep 'prev_comm=jbd2/loop')
	check "it is in the dump" test -n "$journal"
	empty "under its own name" "$(grep -v '^ *jbd2/loop' <<<"$journal")"
	empty "as all kernel threads are" "$("$loads/tool_comm" "$path" | grep 'is called kthreadd')"
	rec_stop
else
	not_ok "the recorder starts again" "$(cat "$work/err")"
fi
tap_end

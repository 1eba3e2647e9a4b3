#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Who was who, after the fact: 2,000 processes of 5 ms each while a flood overwrites the rings many times. Every
# sample in the dump has the right name, as the kernel wrote it, and every user address has its mapping.
. tests/tap.sh
. tests/recorder.sh

# field NAME LINE
field() {
	sed -n "s/.*\b$1=\(-\?[0-9]*\).*/\1/p" <<<"$2"
}

if ! rec_start -a -m 1M -g -e 'sched:sched_switch,sched:sched_wakeup,raw_syscalls:sys_enter[id==121]'; then
	not_ok "the recorder starts" "$(cat "$work/err")"
	tap_end
	exit
fi
in_background "$loads/load_switch" 120 >"$work/flood"
wait_for 20 grep -q ready "$work/flood"
check "2,000 processes live and die" "$loads/load_short" 2000
path=$(dump_now)
result=$("$loads/tool_comm" "$path")
while read -r line; do echo "# $line"; done <<<"$result"
status=$("$RINGBACK" status --json)
echo "# ledger: $(jq -c '.ledger' <<<"$status"), sideband: $(jq -c '.sideband' <<<"$status")"

check "the rings were overwritten many times" test \
	"$(info_json "$path" '[.rings[] | .overwritten_bytes / .ring_bytes] | min | floor')" -ge 10
check "there are samples of processes that have exited" test "$(field exited "$result")" -gt 1000
check "there are samples of the kernel's workers" test "$(field kworkers "$result")" -gt 0
check "every sample's name is the one the kernel knew" test "$(field wrong "$result")" = 0
check "there are samples with user addresses" test "$(field mapped "$result")" -gt 1000
check "every user address lies in a known mapping" test "$(field unmapped "$result")" = 0
check "tombstones do not pile up: fewer are kept than processes were started" test \
	"$(jq '.ledger.tombstones' <<<"$status")" -lt 2000
check "nothing was evicted" test "$(jq '.ledger.evicted' <<<"$status")" = 0
rec_stop
tap_end

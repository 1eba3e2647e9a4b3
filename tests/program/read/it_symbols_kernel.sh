#!/bin/bash
# SPDX-License-Identifier: MIT
# SETTING: kernel.kptr_restrict
#
# Names of kernel functions in a dump, and missing permission to read them.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

rec_start -a --channel "k:cpu-clock/freq=999/;size=1M;stack=fp" -m 1M
in_background "$loads/load_switch" 900 >"$work/load"
sleep 1
path=$(dump_now)
equal "every frame of the kernel has a name" "" "$("$RINGBACK" script --json "$path" |
	jq -r '.chain[]? | select(.ip | startswith("0xffffffff8")) | select(.function == null) | .ip' | head -3)"
restrict=/proc/sys/kernel/kptr_restrict
was=$(cat $restrict)
at_end+=("echo $was >$restrict")
echo 2 >$restrict
hidden=$(dump_now)
echo "$was" >$restrict
kill "$bg_pid"
rec_stop
check "hidden kernel addresses: it is said which setting hides them" grep -q "kptr_restrict is 2" <("$RINGBACK" symbols "$hidden")
check "... and the dump is whole" "$RINGBACK" check "$hidden"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How long a hardware trace stands still for a dump, beside memcpy and perf's way, a write to a file, in turns
# (tests/tools/tool_blackout.c). On this machine, over ordinary memory: from the call of the recorder's threads until all is copied. In
# the guest, on the test module's PMUs: the whole recorder, on one CPU and on four, which there share one thread of the host.
# Clocks of a guest without the host's help: what tells is what stands beside it.
. tests/bench/lib_blackout.sh

failed=0
for nr in 1 2; do
	"$loads/tool_blackout" memory $size $turns "$work" $nr >"$work/turns" || failed=1
	rows "memory, $nr of 4 MiB"
done
for nr in 1 4; do
	VM_CPUS=$nr tests/vm/run.sh -t 400 tests/vm/guest/blackout.sh >"$work/points" || failed=1
	sed -n 's/^# \(guest, .*\)/\1/p; /^not ok/p' "$work/points"
done
exit $failed

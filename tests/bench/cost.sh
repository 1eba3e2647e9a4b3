#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the recorder itself costs while no dump is made: context switches and CPU time over 10 s of more than 100,000 events
# a second, resident memory. What it costs the load: peers.sh.
. tests/bench/lib.sh

rec_start --config /dev/null -a
in_background "$loads/load_switch" 60 >/dev/null
sleep 1
before=$(switches)
ticks=$(cpu_ticks "$rec_pid")
sleep 10
row "recorder: context switches in 10 s" $(($(switches) - before)) switches "default preset, storm of scheduler events"
row "recorder: CPU time in 10 s" $((($(cpu_ticks "$rec_pid") - ticks) * 1000 / $(getconf CLK_TCK))) ms
row "recorder: resident memory" "$(awk '/VmRSS/ { print $2 }' /proc/"$rec_pid"/status)" KiB "$(awk '/RssAnon/ { print $2 }' /proc/"$rec_pid"/status) KiB of it its own"
kill "$bg_pid"
rec_stop

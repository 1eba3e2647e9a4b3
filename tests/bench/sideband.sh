#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Names of short-lived processes after a flood: 2,000 processes of 5 ms each while a scheduler storm overwrites the
# rings; of the samples in the dump, how many have a wrong name or none. Beside `perf record --overwrite`
# under the same load.
. tests/bench/lib.sh

export PERF_CONFIG=/dev/null
events='sched:sched_switch,sched:sched_wakeup'
getpgid='raw_syscalls:sys_enter'

in_background "$loads/load_switch" 600 >/dev/null
rec_start --config /dev/null -a -m 1M -g -e "$events,${getpgid}[id==121]"
"$loads/load_short" 2000 >/dev/null
path=$(dump_now)
rec_stop
result=$("$loads/tool_comm" "$path" | tail -n 1)
samples=$(sed 's/.*samples=\([0-9]*\).*/\1/' <<<"$result")
wrong=$(sed 's/.*wrong=\([0-9]*\).*/\1/' <<<"$result")
row "ringback: samples with a wrong name" "$wrong" samples "of $samples: $result"

# perf stops with the load; SIGINT makes it write its ring.
with_tracefs perf record -q --overwrite -c 1 -m 256 -g -a -e "$events" -e "$getpgid" --filter 'id==121' \
	-o "$work/perf.data" -- "$loads/load_short" 2000 >/dev/null 2>&1
with_tracefs perf script -i "$work/perf.data" -F comm,tid,event,trace --no-inline -G 2>/dev/null >"$work/perf.txt"
# The name that the kernel wrote is prev_comm of sched_switch and p<arg> of getpgid.
perl -ne '
	next unless /^\s*(\S+)\s+\d+/;
	my $name = $1;
	$samples++;
	my $true = /prev_comm=(\S+)/ ? $1 : /NR 121 \(([0-9a-f]+)/ ? "p" . hex($1) : next;
	$wrong++ if $true !~ /^swapper/ && $name ne $true;
	END { printf "%d %d\n", $wrong, $samples }' "$work/perf.txt" >"$work/perf.count"
read -r wrong samples <"$work/perf.count"
row "perf record --overwrite: the same" "$wrong" samples "of $samples"

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sourced by the benchmarks: rows, medians, and all of tests/helpers/recorder.sh. $RINGBACK and $RINGBACK_BUILD come from
# tests/bench.sh.
#
#	rec_start -a -e sched:sched_switch
#	for i in {1..100}; do measure >>us.txt; done
#	row "freeze" "$(median us.txt)" us "max $(max us.txt)"
#	rec_stop

. tests/helpers/recorder.sh
# The q-th percentile (0 to 100, nearest rank) of the numbers in FILE, one a line.
percentile() { # Q FILE
	sort -g "$2" | awk -v q="$1" '
		{ v[NR] = $1 }
		END {
			if (!NR)
				exit 1
			i = int(q / 100 * NR)
			if (i < q / 100 * NR)
				i++
			print v[i < 1 ? 1 : i]
		}'
}

# The middle one, or the mean of the middle two.
median() { # FILE
	sort -g "$1" | awk '
		{ v[NR] = $1 }
		END {
			if (!NR)
				exit 1
			print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
		}'
}

max() { # FILE
	percentile 100 "$1"
}

# One line of the table: what, how much, unit, and what else there is to say.
row() { # NAME VALUE UNIT [NOTE]
	printf '%-44s %12s %-10s %s\n' "$1" "$2" "$3" "${4-}"
}

# Runs COMMAND where tracefs is mounted, in a mount namespace of its own: what happens to the host's mounts does not matter.
# If the host has it mounted, the kernel refuses to mount it there again (EBUSY).
with_tracefs() { # COMMAND...
	unshare --mount --propagation private bash -c '
		mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing || exit
		exec "$@"' with_tracefs "$@"
}

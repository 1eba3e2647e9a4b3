#!/bin/bash
# SPDX-License-Identifier: MIT
#
# one.sh FILE: runs one test for run.sh and prove, keeps its TAP in $RINGBACK_TAP for the count, and ends
# one that hangs: after 300 s, or what a line "# TIMEOUT: SECONDS" in the script says.
set -u

file=$1
name=${file#"$PWD"/}
tap=$RINGBACK_TAP/${name//\//_}.tap
limit=300
command=("$file")

case $file in
*.sh)
	command=(bash "$file")
	own=$(sed -n 's/^# TIMEOUT: \([0-9]*\)$/\1/p' "$file" | head -n 1)
	limit=${own:-$limit}
	;;
esac

# cmocka says "not ok" of a test that was skipped.
timeout -k 10 "$limit" "${command[@]}" </dev/null |
	sed -u 's/^not ok \([0-9]*\) # SKIP \(.*\)/ok \1 - \2 # SKIP the test says so/' | tee "$tap"
rc=${PIPESTATUS[0]}
if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
	echo "# $name was ended: still running after $limit s" | tee -a "$tap" >&2
fi
# A point that was planned and did not come counts as failed.
planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$tap" | head -n 1)
seen=$(grep -cE '^(not )?ok' "$tap")
if [ -n "$planned" ] && [ "$planned" != "$seen" ]; then
	echo "not ok - $name planned $planned points and showed $seen" >>"$tap"
	[ "$rc" != 0 ] || rc=1
fi
# A file that fails without saying which point counts as one failure.
if [ "$rc" != 0 ] && ! grep -q '^not ok' "$tap"; then
	echo "not ok - $name exited with $rc" >>"$tap"
elif ! grep -q '^1\.\.[0-9]' "$tap"; then
	echo "not ok - $name ended without a plan" >>"$tap"
	rc=1
fi
exit "$rc"

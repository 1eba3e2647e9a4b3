#!/bin/bash
# SPDX-License-Identifier: MIT
#
# one.sh FILE: runs one test for run.sh and prove, keeps its TAP in $RINGBACK_TAP for the count, and ends
# one that hangs: after $RINGBACK_LIMIT (600) s, or what a line "# TIMEOUT: SECONDS" in the script says if
# that is more. A sanitizer's report from anything that the test ran fails it, and so do processes and
# temporary files that it left. Which points failed it says on stderr.
set -u

file=$1
name=${file#"$PWD"/}
tap=$RINGBACK_TAP/${name//\//_}.tap
limit=${RINGBACK_LIMIT:-600}
command=("$file")

case $file in
# It takes what others leave: these may wait for a moment.
*/fuzz/fuzz_*) command=(nice -n 19 bash tests/fuzz.sh "${file%/fuzz/*}" "$FUZZ_SECONDS" "${file##*/}") ;;
# ThreadSanitizer takes the addresses that it knows.
*/tsan/tests/*) command=(setarch -R "$file") ;;
*.sh)
	command=(bash "$file")
	own=$(sed -n 's/^# TIMEOUT: \([0-9]*\)$/\1/p' "$file" | head -n 1)
	[ "${own:-0}" -le "$limit" ] || limit=$own
	;;
esac

# Its temporary files; reports of sanitizers, which may come from another user's process.
temporary=$(mktemp -d /tmp/ringback-check.XXXXXX) || exit 1
mkdir "$temporary/files" "$temporary/reports"
chmod 711 "$temporary" "$temporary/files"
chmod 1777 "$temporary/reports"
export TMPDIR=$temporary/files
export ASAN_OPTIONS=exitcode=99:log_path=$temporary/reports/report
export TSAN_OPTIONS=exitcode=99:log_path=$temporary/reports/report
export UBSAN_OPTIONS=print_stacktrace=1
# What tells them names of functions: LLVM's own tool, or that of binutils.
ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer addr2line | head -n 1)
export ASAN_SYMBOLIZER_PATH
# By this in their environment are the test's processes known, wherever they went.
mark=RINGBACK_TEST=$temporary

fail() {
	echo "not ok - $name $1" >>"$tap"
	[ -z "${2-}" ] || printf '%s\n' "$2" | head -n 60 | sed 's/^/# /' >>"$tap"
	[ "$rc" != 0 ] || rc=1
}

# tell_failed: the points that failed, each with the start of what it says: prove's line does not name them
tell_failed() {
	awk -v name="$name" '
		/^(not )?ok|^1\.\./ { on = /^not ok/; nr = 0 }
		on && (/^not ok/ || /^#/) && ++nr <= 20 && ++all <= 40 { print name ": " $0 }' "$tap" >&2
}

# Its processes that are still there, by pid.
left() {
	grep -lszxF "$mark" /proc/[0-9]*/environ | cut -d/ -f3
}

# left_processes: waits a moment for those that are about to end; kills and tells the rest
left_processes() {
	local i pids pid

	for ((i = 0; i < 50; i++)); do
		pids=$(left)
		[ -n "$pids" ] || return
		sleep 0.1
	done
	for pid in $pids; do
		echo "$pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		kill -KILL "$pid"
	done
}

end() {
	left_processes >/dev/null 2>&1
	rm -rf "$temporary"
}
trap end EXIT
trap 'exit 130' INT TERM

# run: the test; then what it left, for that would keep the pipe open. timeout's process group is not the terminal's:
# when somebody interrupts, it is told here, and the test puts right what it changed.
run() {
	local pid

	env --default-signal=INT,QUIT "$mark" timeout -k 10 "$limit" "${command[@]}" </dev/null &
	pid=$!
	trap 'kill "$pid" 2>/dev/null' INT TERM
	wait "$pid"
	rc=$?
	while kill -0 "$pid" 2>/dev/null; do
		wait "$pid"
		rc=$?
	done
	left_processes >"$temporary/left" 2>/dev/null
	return $rc
}

# keep: what comes goes to the terminal and to the file. cmocka says "not ok" of a test that was skipped.
keep() {
	trap '' INT
	sed -u 's/^not ok \([0-9]*\) # SKIP \(.*\)/ok \1 - \2 # SKIP the test says so/' | tee "$tap"
}

run | keep
rc=${PIPESTATUS[0]}
if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
	echo "# $name was ended: still running after $limit s" | tee -a "$tap" >&2
fi
# A point that was planned and did not come counts as failed.
planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$tap" | head -n 1)
seen=$(grep -cE '^(not )?ok' "$tap")
if [ -n "$planned" ] && [ "$planned" != "$seen" ]; then
	fail "planned $planned points and showed $seen"
fi
# A file that fails without saying which point counts as one failure.
if [ "$rc" != 0 ] && ! grep -q '^not ok' "$tap"; then
	fail "exited with $rc"
elif ! grep -q '^1\.\.[0-9]' "$tap"; then
	fail "ended without a plan"
fi
[ ! -s "$temporary/left" ] || fail "left processes behind" "$(cat "$temporary/left")"
reports=$(cat "$temporary"/reports/* 2>/dev/null)
[ -z "$reports" ] || fail "made a sanitizer complain" "$reports"
files=$(ls -A "$temporary/files")
[ -z "$files" ] || fail "left temporary files behind" "$files"
tell_failed
exit "$rc"

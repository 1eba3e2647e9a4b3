#!/bin/bash
# SPDX-License-Identifier: MIT
#
# one.sh FILE: runs one test for run.sh and prove, keeps its TAP in $RINGBACK_TAP for the count, and
# ends a test that hangs: after $RINGBACK_LIMIT (600) s, or after the seconds in the script's line
# "# TIMEOUT: SECONDS" if that is more. The test fails if any of its processes caused a sanitizer
# report, or if it left processes or temporary files. Prints the failed points on stderr.
set -u

file=$1
name=${file#"$PWD"/}
tap=$RINGBACK_TAP/${name//\//_}.tap
limit=${RINGBACK_LIMIT:-600}
command=("$file")

case $file in
# Fuzz targets have low priority, so that they do not delay other tests.
*/fuzz/fuzz_*) command=(nice -n 19 bash tests/fuzz.sh "${file%/fuzz/*}" "$FUZZ_SECONDS" "${file##*/}") ;;
# ThreadSanitizer needs a fixed address layout: -R switches ASLR off.
*/tsan/tests/*) command=(setarch -R "$file") ;;
*.sh)
	command=(bash "$file")
	own=$(sed -n 's/^# TIMEOUT: \([0-9]*\)$/\1/p' "$file" | head -n 1)
	[ "${own:-0}" -le "$limit" ] || limit=$own
	;;
esac

# The test's temporary files, and the sanitizers' reports, which a process of another user may
# write.
temporary=$(mktemp -d /tmp/ringback-check.XXXXXX) || exit 1
mkdir "$temporary/files" "$temporary/reports"
chmod 711 "$temporary" "$temporary/files"
chmod 1777 "$temporary/reports"
export TMPDIR=$temporary/files
export ASAN_OPTIONS=exitcode=99:log_path=$temporary/reports/report
export TSAN_OPTIONS=exitcode=99:log_path=$temporary/reports/report
export UBSAN_OPTIONS=print_stacktrace=1
# The symbolizer for the sanitizers: LLVM's, or addr2line from binutils.
ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer addr2line | head -n 1)
export ASAN_SYMBOLIZER_PATH
# This variable in their environment identifies the test's processes wherever they are.
mark=RINGBACK_TEST=$temporary

fail() {
	echo "not ok - $name $1" >>"$tap"
	[ -z "${2-}" ] || printf '%s\n' "$2" | head -n 60 | sed 's/^/# /' >>"$tap"
	[ "$rc" != 0 ] || rc=1
}

# tell_failed: prints the failed points, each with its first lines: prove does not name them
tell_failed() {
	awk -v name="$name" '
		/^(not )?ok|^1\.\./ { on = /^not ok/; nr = 0 }
		on && (/^not ok/ || /^#/) && ++nr <= 20 && ++all <= 40 { print name ": " $0 }' "$tap" >&2
}

# Pids of the test's processes that still run.
left() {
	grep -lszxF "$mark" /proc/[0-9]*/environ | cut -d/ -f3
}

# left_processes: waits up to 5 s for the test's processes to end; prints and kills the rest
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

# run: runs the test, then kills leftover processes, which would keep the pipe open. timeout runs
# the test outside the terminal's foreground process group, so an interrupt is forwarded here, and
# the test restores what it changed.
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

# keep: copies the output to the terminal and the file. cmocka prints "not ok" for a skipped test,
# which this corrects.
keep() {
	trap '' INT
	sed -u 's/^not ok \([0-9]*\) # SKIP \(.*\)/ok \1 - \2 # SKIP the test says so/' | tee "$tap"
}

run | keep
rc=${PIPESTATUS[0]}
if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
	echo "# $name was ended: still running after $limit s" | tee -a "$tap" >&2
fi
# A planned point that is missing counts as a failure.
planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$tap" | head -n 1)
seen=$(grep -cE '^(not )?ok' "$tap")
if [ -n "$planned" ] && [ "$planned" != "$seen" ]; then
	fail "planned $planned points and showed $seen"
fi
# A file that fails without a failed point counts as one failure.
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

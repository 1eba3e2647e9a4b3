#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fuzz.sh BUILD-DIR SECONDS [NAME]...: runs each fuzz target that long, or those named; prints TAP. It starts
# from what tests/tools/tool_seed.c and tool_golden.c make; what it learnt stays in BUILD-DIR/corpus, what it said in
# BUILD-DIR/log/NAME, the input of a finding in BUILD-DIR/finding-NAME-*.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/helpers/tap.sh

build=$(realpath -m "$1")
seconds=$2
shift 2
names=("$@")
# A finding is told by the target's own log and exit status, not through what the caller set for its programs.
unset ASAN_OPTIONS UBSAN_OPTIONS

if [ ${#names[@]} = 0 ]; then
	for source in tests/fuzz/fuzz_*.c; do
		names+=("$(basename "$source" .c)")
	done
fi
mkdir -p "$build/log"
for name in "${names[@]}"; do
	corpus=$build/corpus/$name
	log=$build/log/$name
	mkdir -p "$corpus"
	case $name in
	# Nothing in their inputs is hard to hit: they start from nothing.
	fuzz_ptflow | fuzz_unwind) ;;
	fuzz_pack | fuzz_unpack) "$build/tests/tool_golden" seeds "$corpus" || exit 1 ;;
	*) "$build/tests/tool_seed" seeds "$corpus" || exit 1 ;;
	esac
	"$build/fuzz/$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
		-artifact_prefix="$build/finding-$name-" -print_final_stats=1 "$corpus" >"$log" 2>&1
	rc=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	[ "$rc" != 0 ] || [ "${runs:-0}" -gt 0 ] || rc=none
	if [ "$rc" = 0 ]; then
		ok "$name: $seconds s and $runs inputs without a finding"
	else
		not_ok "$name: $seconds s without a finding" "exit status $rc; $log ends:
$(tail -n 30 "$log")"
	fi
done
tap_end

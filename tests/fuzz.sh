#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fuzz.sh BUILD-DIR SECONDS: runs each fuzz target that long. What it learnt stays in BUILD-DIR/corpus, the
# input of a finding in BUILD-DIR/finding-*; dumps in tests/golden are where it starts.
set -u
cd "$(dirname "$0")/.." || exit 1

build=$(realpath -m "$1")
seconds=$2
failed=0

shopt -s nullglob
for source in tests/fuzz_*.c; do
	name=$(basename "$source" .c)
	corpus=$build/corpus/$name
	seeds=(tests/golden)

	mkdir -p "$corpus"
	[ -d "${seeds[0]}" ] || seeds=()
	echo "== $name, $seconds s"
	"$build/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
		-artifact_prefix="$build/finding-$name-" -print_final_stats=1 \
		"$corpus" "${seeds[@]}" 2>"$build/$name.log" || {
		echo "$name found something: $build/$name.log"
		tail -n 30 "$build/$name.log"
		failed=1
	}
	grep -E '^stat::(number_of_executed_units|average_exec_per_sec)' "$build/$name.log"
done
exit $failed

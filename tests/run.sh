#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh BUILD-DIR: what `make check` runs after the packages are there. Builds with gcc (warnings are
# errors), clang and the sanitizers; then linters, unit tests (plain, two at a time; again with the
# sanitizers), fuzz targets for some seconds, tests of the whole program one by one. The last line is
# "N passed, N failed, N skipped", counted over the points of all tests. RINGBACK_NO_SKIP=1: a skipped point
# is a failure of the whole.
#
# Tests find the program in $RINGBACK, the one with sanitizers in $RINGBACK_SAN, loads and tools in
# $RINGBACK_BUILD/tests.
set -u
cd "$(dirname "$0")/.." || exit 1

build=$(realpath -m "${1:-build}")
jobs=$(nproc)
san=address,undefined
sanitized=$build/san
failed_steps=0

export RINGBACK=$build/ringback RINGBACK_SAN=$sanitized/ringback RINGBACK_BUILD=$build
export RINGBACK_TAP=$build/tap
export CMOCKA_MESSAGE_OUTPUT=TAP
export UBSAN_OPTIONS=print_stacktrace=1
export LC_ALL=C
# The makes below are no parts of the one that called.
unset MAKEFLAGS MFLAGS MAKELEVEL

rm -rf "$RINGBACK_TAP"
mkdir -p "$RINGBACK_TAP"

# build_step NAME MAKE-ARGUMENT...: a build is a test point like any other
build_step() {
	local name=$1

	shift
	echo "== $name"
	if make --no-print-directory -j"$jobs" WERROR=1 "$@"; then
		echo "ok - $name" >>"$RINGBACK_TAP/builds.tap"
	else
		echo "not ok - $name" | tee -a "$RINGBACK_TAP/builds.tap"
		failed_steps=$((failed_steps + 1))
	fi
}

# prove_step NAME JOBS FILE...
prove_step() {
	local name=$1 parallel=$2

	shift 2
	[ $# -gt 0 ] || return 0
	echo "== $name"
	prove -j"$parallel" --timer --exec "bash $PWD/tests/one.sh" "$@" ||
		failed_steps=$((failed_steps + 1))
}

# Those of the given that were built: a missing one was counted with its build.
built() {
	local file

	for file; do
		[ ! -x "$file" ] || printf '%s\n' "$file"
	done
}

shopt -s nullglob
unit_names=(tests/t_*.c)
unit_names=("${unit_names[@]%.c}")

build_step "builds without a warning with gcc" O="$build" tests-build
build_step "builds without a warning with clang" O="$build/clang" CC=clang tests-build
build_step "builds with the sanitizers" O="$sanitized" SAN="$san" tests-build
fuzzers=(tests/fuzz_*.c)
[ ${#fuzzers[@]} = 0 ] || build_step "fuzz targets build" O="$build" fuzz-build

mapfile -t plain < <(built "${unit_names[@]/#/$build/}")
mapfile -t checked < <(built "${unit_names[@]/#/$sanitized/}")

prove_step "linters" 2 tests/lint_*.sh
prove_step "units" 2 "${plain[@]}"
prove_step "units with sanitizers" 2 "${checked[@]}"
prove_step "whole program" 1 tests/it_*.sh

count() {
	cat "$RINGBACK_TAP"/*.tap | awk '
		/^(not )?ok/ && tolower($0) ~ /# skip/ { skipped++; next }
		/^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ { skipped++; next }
		/^ok/ { passed++ }
		/^not ok/ { failed++ }
		END { print passed + 0, failed + 0, skipped + 0 }'
}

read -r passed failed skipped < <(count)
if [ "$skipped" != 0 ]; then
	echo "== skipped"
	grep -hi '^\(ok\|not ok\|1\.\.0\).*# skip' "$RINGBACK_TAP"/*.tap
fi
if [ "$failed" != 0 ]; then
	echo "== failed"
	grep -H '^not ok' "$RINGBACK_TAP"/*.tap | sed "s,^$RINGBACK_TAP/,,"
fi
# What prove saw and the count did not (a plan that was not kept) is a failure too.
if [ "$failed" = 0 ] && [ "$failed_steps" != 0 ]; then
	failed=$failed_steps
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && { [ "$skipped" = 0 ] || [ "${RINGBACK_NO_SKIP:-0}" = 0 ]; }

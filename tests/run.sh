#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh BUILD-DIR: what `make check` runs after the packages are there. Builds with gcc (warnings are
# errors), clang and the sanitizers; then linters, unit tests (plain, two at a time; again with the
# sanitizers), fuzz targets for some seconds, tests of the whole program one by one, and those of them with a
# line "# SANITIZE" again with the program that has the sanitizers. The last line is "N passed, N failed,
# N skipped", counted over the points of all tests. RINGBACK_NO_SKIP=1: a skipped point is a failure of the
# whole.
#
# Tests find the program in $RINGBACK, the one with sanitizers in $RINGBACK_SAN, loads and tools in
# $RINGBACK_BUILD/tests. What builds and tests printed stays in BUILD-DIR/log and BUILD-DIR/tap.
set -u
cd "$(dirname "$0")/.." || exit 1

build=$(realpath -m "${1:-build}")
jobs=$(nproc)
san=address,undefined
sanitized=$build/san
tap=$build/tap
log=$build/log
failed_steps=0

export RINGBACK=$build/ringback RINGBACK_SAN=$sanitized/ringback RINGBACK_BUILD=$build
export RINGBACK_TAP=$tap FUZZ_SECONDS=15
export CMOCKA_MESSAGE_OUTPUT=TAP
export LC_ALL=C
# The makes below are no parts of the one that called.
unset MAKEFLAGS MFLAGS MAKELEVEL

rm -rf "$tap" "$log"
mkdir -p "$tap/sanitized" "$log"

# build_step NAME MAKE-ARGUMENT...: a build is a test point like any other
build_step() {
	local name=$1 start=$SECONDS file=$log/build-$((++nr_builds))

	shift
	echo "== $name"
	if make --no-print-directory -j"$jobs" WERROR=1 "$@" >"$file" 2>&1; then
		echo "ok - $name" >>"$tap/builds.tap"
		echo "ok, $((SECONDS - start)) s"
	else
		grep -v '^  [A-Z]* *[^ ]*$' "$file" | tail -n 60
		echo "not ok - $name" | tee -a "$tap/builds.tap"
		failed_steps=$((failed_steps + 1))
	fi
}
nr_builds=0

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
fuzz_names=(tests/fuzz_*.c)
fuzz_names=("${fuzz_names[@]%.c}")
fuzz_names=("${fuzz_names[@]#tests/}")
program_tests=(tests/it_*.sh)

build_step "builds without a warning with gcc" O="$build" tests-build
build_step "builds without a warning with clang" O="$build/clang" CC=clang tests-build
build_step "builds with the sanitizers" O="$sanitized" SAN="$san" tests-build
[ ${#fuzz_names[@]} = 0 ] || build_step "fuzz targets build" O="$build" fuzz-build

mapfile -t plain < <(built "${unit_names[@]/#/$build/}")
mapfile -t checked < <(built "${unit_names[@]/#/$sanitized/}")
mapfile -t fuzzers < <(built "${fuzz_names[@]/#/$build/fuzz/}")
mapfile -t twice < <(grep -lx '# SANITIZE' "${program_tests[@]}")

prove_step "linters" "$jobs" tests/lint_*.sh
prove_step "units" 2 "${plain[@]}"
prove_step "fuzz targets for $FUZZ_SECONDS s; units with sanitizers" 2 "${fuzzers[@]}" "${checked[@]}"
prove_step "whole program" 1 "${program_tests[@]}"
[ ! -x "$RINGBACK_SAN" ] ||
	RINGBACK=$RINGBACK_SAN RINGBACK_BUILD=$sanitized RINGBACK_TAP=$tap/sanitized \
		prove_step "whole program with sanitizers" 1 "${twice[@]}"

count() {
	cat "$tap"/*.tap "$tap"/sanitized/*.tap | awk '
		/^(not )?ok/ && tolower($0) ~ /# skip/ { skipped++; next }
		/^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ { skipped++; next }
		/^ok/ { passed++ }
		/^not ok/ { failed++ }
		END { print passed + 0, failed + 0, skipped + 0 }'
}

# show_points PATTERN: points that match in any case, each with its file and the "# ..." lines after it
show_points() {
	(cd "$tap" && awk -v pattern="$1" '
		FNR == 1 { on = 0 }
		/^(not )?ok|^1\.\./ { on = tolower($0) ~ pattern && !/^1\.\.[1-9]/ }
		on { print /^#/ ? "    " $0 : substr(FILENAME, 1, length(FILENAME) - 4) ": " $0 }' \
		*.tap sanitized/*.tap)
}

read -r passed failed skipped < <(count)
if [ "$skipped" != 0 ]; then
	echo "== skipped"
	show_points '# skip'
fi
if [ "$failed" != 0 ]; then
	echo "== failed (all that tests printed is in $tap)"
	show_points '^not ok'
fi
# What prove saw and the count did not (a plan that was not kept) is a failure too.
if [ "$failed" = 0 ] && [ "$failed_steps" != 0 ]; then
	failed=$failed_steps
fi
echo "== $((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && { [ "$skipped" = 0 ] || [ "${RINGBACK_NO_SKIP:-0}" = 0 ]; }

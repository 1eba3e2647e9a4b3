#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh BUILD-DIR: the main part of `make check`, after the packages are installed. Builds with
# gcc, with clang and the sanitizers (warnings are errors), partly with ThreadSanitizer, and the
# fuzz targets. Then it runs, in this order:
#
#	1. unit tests, and fuzz targets for some seconds; then linters, and unit tests with the
#	   sanitizers. One more job than CPUs, because many jobs mostly wait.
#	2. tests of the whole program, two at a time. The tests in a guest run beside 1 and 2.
#	3. tests with a line "# SETTING: kernel.NAME", a setting of the whole machine that they change:
#	   no two of the same setting at a time
#	4. tests that measure a sleeping recorder
#	5. one by one the others with a line "# ALONE: why"
#	6. tests with a line "# SANITIZE" again, with the sanitized program
#	7. failed tests once more, alone
#
# The last line is "N passed, N failed, N skipped", counted over the points of all tests.
# RINGBACK_NO_SKIP=1: a skipped point fails the run.
#
# Tests find the program in $RINGBACK, the sanitized one in $RINGBACK_SAN, loads and tools in
# $RINGBACK_BUILD/tests. The output of builds and tests stays in BUILD-DIR/log and BUILD-DIR/tap.
set -u
cd "$(dirname "$0")/.." || exit 1

build=$(realpath -m "${1:-build}")
jobs=$(nproc)
sanitized=$build/san
tap=$build/tap
log=$build/log

export RINGBACK=$build/ringback RINGBACK_SAN=$sanitized/ringback RINGBACK_TSAN=$build/tsan/ringback RINGBACK_BUILD=$build
export RINGBACK_TAP=$tap FUZZ_SECONDS=10
export CMOCKA_MESSAGE_OUTPUT=TAP
export LC_ALL=C
# The makes below must not join the caller's job server.
unset MAKEFLAGS MFLAGS MAKELEVEL

rm -rf "$tap" "$log"
mkdir -p "$tap/sanitized" "$log"

# build_step NAME MAKE-ARGUMENT...: a build counts as a test point
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
	fi
}
nr_builds=0

# setting FILE: the setting that a test changes, or nothing
setting() {
	sed -n 's/^# SETTING: //p' "$1"
}

# prove_step NAME JOBS FILE...: tests of one setting run one after the other
prove_step() {
	local name=$1 parallel=$2 file of rules=()

	shift 2
	[ $# -gt 0 ] || return 0
	echo "== $name"
	for of in $(for file; do [[ $file != *.sh ]] || setting "$file"; done | sort -u); do
		rules+=("--rules=seq={$(grep -lx "# SETTING: $of" "$@" | paste -sd,)}")
	done
	[ ${#rules[@]} = 0 ] || rules+=("--rules=par=**")
	printf "$RINGBACK_TAP\t%s\n" "$@" >>"$log/ran"
	prove -j"$parallel" "${rules[@]}" --timer --exec "bash $PWD/tests/one.sh" "$@"
}

# beside_start FILE: starts a test that shares only the CPUs with the others; beside_end waits for
# it. It has its own process group, so that an interrupt can end it with everything it started.
beside_start() {
	beside=$1 beside_began=$SECONDS
	set -m
	bash tests/one.sh "$1" </dev/null >/dev/null 2>"$log/beside" &
	beside_pid=$!
	set +m
	trap 'kill -TERM -- "-$beside_pid" 2>/dev/null' EXIT
}

beside_end() {
	echo "== $beside, which began with the units"
	printf "$RINGBACK_TAP\t%s\n" "$beside" >>"$log/ran"
	if wait "$beside_pid"; then
		echo "ok, $((SECONDS - beside_began)) s"
	else
		echo "failed after $((SECONDS - beside_began)) s"
	fi
	cat "$log/beside"
	trap - EXIT
}

# The given files that were built; the failed build counts for a missing one.
built() {
	local file

	for file; do
		[ ! -x "$file" ] || printf '%s\n' "$file"
	done
}

# in_order FIRST... -- FILE...: the files, those with a name in FIRST before the others. The longest
# tests start first, so that the end does not wait for them.
in_order() {
	local first=() name file

	while [ "$1" != -- ]; do
		first+=("$1")
		shift
	done
	shift
	for name in "${first[@]}"; do
		for file; do
			[ "${file##*/}" != "$name" ] || printf '%s\n' "$file"
		done
	done
	for file; do
		[[ " ${first[*]} " == *" ${file##*/} "* ]] || printf '%s\n' "$file"
	done
}

shopt -s nullglob
unit_names=(tests/unit/*/t_*.c)
unit_names=("${unit_names[@]%.c}")
unit_names=("${unit_names[@]##*/}")
fuzz_names=(tests/fuzz/fuzz_*.c)
fuzz_names=("${fuzz_names[@]%.c}")
fuzz_names=("${fuzz_names[@]##*/}")
program_tests=(tests/program/*/it_*.sh)

build_step "builds without a warning with gcc" O="$build" tests-build
build_step "builds without a warning with clang and the sanitizers" O="$build" san-build
build_step "builds without a warning with clang and ThreadSanitizer" O="$build" tsan-build
[ ${#fuzz_names[@]} = 0 ] || build_step "fuzz targets build" O="$build" fuzz-build

# The sanitized units run in a later step: a unit test may depend on the state of the whole machine,
# so it must not run beside itself.
long_units=(t_rate t_measure t_file t_bpf_latency t_bpf_wait)
mapfile -t fuzzers < <(built "${fuzz_names[@]/#/$build/fuzz/}")
mapfile -t plain < <(built "${unit_names[@]/#/$build/tests/}")
mapfile -t plain < <(in_order "${long_units[@]}" -- "${plain[@]}")
mapfile -t checked < <(built "${unit_names[@]/#/$sanitized/tests/}")
mapfile -t checked < <(in_order "${long_units[@]}" -- "${checked[@]}")
raced=("$build"/tsan/tests/t_*)
mapfile -t raced < <(printf '%s\n' "${raced[@]}" | grep -v '\.[do]$')
unwoken='# ALONE: another test would wake the recorder'
mapfile -t asleep < <(grep -lx "$unwoken" "${program_tests[@]}")
mapfile -t alone < <(grep -l '^# ALONE: ' "${program_tests[@]}" | xargs -r grep -Lx "$unwoken")
mapfile -t settings < <(grep -l '^# SETTING: ' "${program_tests[@]}")
mapfile -t others < <(grep -LE '^# (ALONE|SETTING): ' "${program_tests[@]}" | grep -vx tests/program/setup/it_vm.sh)
mapfile -t others < <(in_order it_soak.sh it_damage.sh it_kill.sh it_export_perf.sh it_pack.sh it_unwind.sh it_symbols.sh -- "${others[@]}")
mapfile -t twice < <(grep -lx '# SANITIZE' "${settings[@]}" "${others[@]}")
mapfile -t alone_twice < <(grep -lx '# SANITIZE' "${alone[@]}")

beside_start tests/program/setup/it_vm.sh
prove_step "units; fuzz targets for $FUZZ_SECONDS s" $((jobs + 1)) "${plain[@]:0:4}" "${fuzzers[@]}" "${plain[@]:4}"
prove_step "linters; units with sanitizers" $((jobs + 1)) "${checked[@]:0:4}" tests/lint/lint_*.sh "${checked[@]:4}" "${raced[@]}"
prove_step "whole program" 2 "${others[@]}"
beside_end
prove_step "whole program, where it changes settings" 2 "${settings[@]}"
prove_step "whole program, asleep" 2 "${asleep[@]}"
prove_step "whole program, one by one" 1 "${alone[@]}"
if [ -x "$RINGBACK_SAN" ]; then
	export RINGBACK=$RINGBACK_SAN RINGBACK_BUILD=$sanitized RINGBACK_TAP=$tap/sanitized
	prove_step "whole program with sanitizers" 2 "${twice[@]}"
	prove_step "whole program with sanitizers, one by one" 1 "${alone_twice[@]}"
fi

# again: runs each failed test once more, alone, when all others are over. A test that failed
# because of timing or load passes then, a broken one does not. The first result is shown and kept
# in $tap/first. Sanitizer findings are not retried.
again() {
	local of file name

	mkdir "$tap/first"
	while IFS=$'\t' read -r of file; do
		name=${file#"$PWD"/}
		name=$of/${name//\//_}.tap
		[ -s "$name" ] || echo "not ok - $file has no result" >"$name"
		grep -q '^not ok' "$name" && ! grep -q '^not ok.*a sanitizer' "$name" || continue
		mv "$name" "$tap/first/"
		echo "== ${file##*/} again, alone"
		if [ "$of" = "$tap" ]; then
			RINGBACK=$build/ringback RINGBACK_BUILD=$build RINGBACK_TAP=$tap bash tests/one.sh "$file" >/dev/null
		else
			bash tests/one.sh "$file" >/dev/null
		fi
		echo "exit status $?"
	done <"$log/ran"
}
again

count() {
	cat "$tap"/*.tap "$tap"/sanitized/*.tap | awk '
		/^(not )?ok/ && tolower($0) ~ /# skip/ { skipped++; next }
		/^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ { skipped++; next }
		/^ok/ { passed++ }
		/^not ok/ { failed++ }
		END { print passed + 0, failed + 0, skipped + 0 }'
}

# show_points PATTERN: points that match, ignoring case, each with its file and the "# ..." lines
# after it
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
echo "== $((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && { [ "$skipped" = 0 ] || [ "${RINGBACK_NO_SKIP:-0}" = 0 ]; }

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh BUILD-DIR: what `make check` runs after the packages are there. Builds with gcc, and with clang and the sanitizers
# (warnings are errors), some with ThreadSanitizer, and fuzz targets. Then, one more at a time than there are CPUs, for many mostly wait: unit tests and
# fuzz targets for some seconds, linters and unit tests with the sanitizers; then tests of the whole program, two at a time;
# beside all these those in a guest. Then those with a line "# SETTING: kernel.NAME", which they change for everybody, no two of
# the same setting at a time; those that only want to sleep; one by one the others with a line "# ALONE: why"; and those with
# a line "# SANITIZE" again with the program that has the sanitizers; and what failed once more, alone. The last line is "N passed, N failed, N skipped",
# counted over the points of all tests.
# RINGBACK_NO_SKIP=1: a skipped point is a failure of the whole.
#
# Tests find the program in $RINGBACK, the one with sanitizers in $RINGBACK_SAN, loads and tools in
# $RINGBACK_BUILD/tests. What builds and tests printed stays in BUILD-DIR/log and BUILD-DIR/tap.
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
	fi
}
nr_builds=0

# setting FILE: that a test changes, or nothing
setting() {
	sed -n 's/^# SETTING: //p' "$1"
}

# prove_step NAME JOBS FILE...: those of one setting one after the other
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

# beside_start FILE: a test that shares nothing with the others but the CPUs goes on while they are run; beside_end waits for it.
# In a process group of its own, so that it can be ended with all that it started.
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

# Those of the given that were built: a missing one was counted with its build.
built() {
	local file

	for file; do
		[ ! -x "$file" ] || printf '%s\n' "$file"
	done
}

# in_order FIRST... -- FILE...: the files, those that are called as one of FIRST before the others: what takes longest is not
# to be what the end waits for
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

# No unit test beside itself: it may be about the whole machine.
long_units=(t_rate t_measure t_file t_bpf_latency)
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
mapfile -t others < <(in_order it_damage.sh it_kill.sh it_export_perf.sh it_pack.sh it_unwind.sh it_symbols.sh -- "${others[@]}")
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

# again: a test that failed beside others runs once more by itself, when all others are over: what depends on times or on
# a machine that is not busy passes then, what is broken does not. The first result is shown and kept in $tap/first. What a
# sanitizer found is not tried again.
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
echo "== $((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && { [ "$skipped" = 0 ] || [ "${RINGBACK_NO_SKIP:-0}" = 0 ]; }

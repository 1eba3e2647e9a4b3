#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs without frame pointers whose call paths are known (tests/unwind/), built in many ways: of their samples with a
# copied stack at least 99 in 100 have the whole path, from the dump alone: the programs are gone when it is read. Through
# signal handlers, callbacks out of a library, stubs, the vdso, exceptions; also where the C library has no unwind tables.
. tests/tap.sh
. tests/recorder.sh

sources=$PWD/tests/unwind
bin=$work/bin
flags="-O2 -g0 -fomit-frame-pointer -fno-optimize-sibling-calls"
mkdir "$bin"

# build NAME COMPILER ARG...
build() {
	local name=$1

	shift
	# shellcheck disable=SC2086 # a list of options
	check "$name: builds" "$1" $flags "${@:2}" -o "$bin/$name"
}

build dynamic gcc "$sources/chain.c"
build not-pie gcc -no-pie "$sources/chain.c"
build clang clang "$sources/chain.c"
build static gcc -static "$sources/chain.c"
build static-pie gcc -static-pie -fPIE "$sources/chain.c"
build debug-frame gcc -g -gz -fno-asynchronous-unwind-tables -fno-unwind-tables "$sources/chain.c"
build libtwo.so gcc -shared -fPIC "$sources/chain_two.c"
build libone.so gcc -shared -fPIC "$sources/chain_one.c" -L"$bin" -ltwo "-Wl,-rpath,$bin"
build libraries gcc -DWITH_LIBRARIES -rdynamic "$sources/chain.c" -L"$bin" -lone -ltwo "-Wl,-rpath,$bin"
build cxx g++ "$sources/chain.cpp"
build musl musl-gcc "$sources/chain.c"
build musl-static musl-gcc -static "$sources/chain.c"

# sampled NAME ARG...: records the program, ARG says how; $dump
sampled() {
	local name=$1 load

	shift
	in_background "$bin/$name" >"$work/load"
	load=$bg_pid
	wait_for 20 grep -q ready "$work/load"
	rec_start -m 16M -p "$load" "$@"
	wait_for 60 written_since 4000000
	dump=$(dump_now)
	rec_stop
	kill "$load"
	wait "$load" 2>/dev/null
}

# The paths from main on that there are, without what is not the program's own: any of these, and any beginning of one.
c_paths="main outer middle inner leaf
main outer library one two inner leaf
main outer sort compare
main outer interrupted handler inner leaf
main outer timed"
cxx_paths="main outer Shape::walk deep<3> deep<2> deep<1> deep<0> leaf
main outer apply leaf
main outer guard risky thrower"

# wrong DUMP PATHS: samples whose path is none of these, then how many, of how many
wrong() {
	"$loads/tool_stack" "$1" | awk -F '\t' -v paths="$2" '
		BEGIN {
			n = split(paths, lines, "\n")
			for (i = 1; i <= n; i++) {
				m = split(lines[i], f, " ")
				path = ""
				for (k = 1; k <= m; k++) {
					own[f[k]] = 1
					path = path " " f[k]
					ok[path] = 1
				}
			}
		}
		{
			m = split($1, f, ";")
			path = ""
			for (k = 1; k <= m; k++)
				if (f[k] in own)
					path = path " " f[k]
			if (!(path in ok)) {
				bad++
				print
			}
		}
		END { print bad + 0, NR }'
}

# ends DUMP: why its stacks end, and how many do
ends() {
	"$loads/tool_stack" "$1" | cut -f3 | sort | uniq -c | sort -rn | sed 's/^ *//'
}

# at_most_one_in_100 TEXT: whose last line is "BAD ALL"
at_most_one_in_100() {
	tail -n 1 <<<"$1" | awk '{ exit !($2 >= 300 && $1 * 100 <= $2) }'
}

# shown NAME DUMP PATHS
shown() {
	local found

	found=$(wrong "$2" "$3")
	if at_most_one_in_100 "$found"; then
		ok "$1: the whole path is known of $(tail -n 1 <<<"$found" | awk '{ print $2 - $1 " of " $2 }') samples"
	else
		not_ok "$1: the whole path is known of 99 in 100 samples" "$(tac <<<"$found")"
	fi
}

# complete NAME DUMP: 99 in 100 stacks reach the thread's beginning
complete() {
	local found

	found=$(ends "$2" | awk '{ n += $1; if (NF > 1) { bad += $1; print } } END { print bad + 0, n }')
	if at_most_one_in_100 "$found"; then
		ok "$1: down to where the thread began"
	else
		not_ok "$1: down to where the thread began" "$found"
	fi
}

channel='d:cpu-clock/freq=997/;stack=dwarf:8K'
declare -A dumps
for name in dynamic not-pie clang static static-pie debug-frame libraries cxx musl musl-static; do
	sampled $name --channel "$channel"
	dumps[$name]=$dump
done
sampled dynamic -e cpu-clock/freq=997/ -g=dwarf:8K
dumps[option]=$dump
sampled dynamic --channel 'd:cpu-clock/freq=4999/;stack=dwarf:128'
dumps[short]=$dump

# Nothing is left of them.
rm -rf "$bin"
for name in dynamic option not-pie clang static static-pie debug-frame libraries; do
	shown "$name" "${dumps[$name]}" "$c_paths"
	complete "$name" "${dumps[$name]}"
done
shown cxx "${dumps[cxx]}" "$cxx_paths"
complete cxx "${dumps[cxx]}"
for name in musl musl-static; do
	shown "$name" "${dumps[$name]}" "$c_paths"
	check "$name: says what has no unwind table" grep -q 'no unwind table for' <<<"$(ends "${dumps[$name]}")"
done
check "128 bytes of stack: says that they are too few" \
	grep -q 'more than the 128 bytes of stack that were copied' <<<"$(ends "${dumps[short]}")"
check "a handler's frame is followed by the interrupted function's" \
	grep -q 'interrupted;.*raise.*;__restore_rt;handler;inner;leaf' <<<"$("$loads/tool_stack" "${dumps[dynamic]}")"
check "the vdso's functions have callers" \
	grep -q 'outer;timed;.*__vdso_clock_gettime' <<<"$("$loads/tool_stack" "${dumps[dynamic]}")"
check "script shows the callers, with names" \
	grep -q '^ *[0-9a-f]* main+0x[0-9a-f]* (dynamic)$' <<<"$("$RINGBACK" script "${dumps[dynamic]}")"
check "script tells why a chain ends" \
	grep -q '^ *ends: more than the 128 bytes of stack that were copied$' <<<"$("$RINGBACK" script "${dumps[short]}")"
tap_end

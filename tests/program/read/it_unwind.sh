#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs without frame pointers and with known call paths (tests/load/unwind/), built in many
# ways: of the samples with a copied stack at least 99 in 100 have the whole path, from the dump
# alone, after the programs were deleted. Covers signal handlers, callbacks from a library, stubs,
# the vdso, exceptions, panics, goroutines, and a C library without unwind tables. perf, given the
# same samples by export, shows no more of them.
# TIMEOUT: 600
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

sources=$PWD/tests/load/unwind
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
export GO111MODULE=off GOCACHE=$work/go GOFLAGS=
check "go: builds" go build -o "$bin/go" "$sources/chain.go"
check "rust: builds" rustc -O -C panic=unwind -o "$bin/rust" "$sources/chain.rs"
check "rust with frame pointers: builds" \
	rustc -O -C panic=unwind -C force-frame-pointers=yes -o "$bin/rust-fp" "$sources/chain.rs"

# sampled NAME ARG...: records the program with these options; sets $dump
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

# All paths from main on, without frames outside the program: a valid path is one of these or a
# beginning of one.
c_paths="main outer middle inner leaf
main outer library one two inner leaf
main outer sort compare
main outer interrupted handler inner leaf
main outer timed"
cxx_paths="main outer Shape::walk deep<3> deep<2> deep<1> deep<0> leaf
main outer apply leaf
main outer guard risky thrower"

go_paths="main.main main.outer main.middle main.inner main.leaf
main.main main.outer main.sorted main.sorted.func1 main.compare main.leaf
main.main main.outer main.grow main.grow main.grow main.grow main.grow main.grow main.leaf
main.main main.outer main.allocate
main.main main.outer main.wait
main.main.func1 main.work main.inner main.leaf
main.outer.func1 main.grow main.grow main.grow main.grow main.grow main.grow main.leaf"
rust_paths="chain::main chain::outer chain::middle chain::inner chain::leaf
chain::main chain::outer chain::sorted chain::compare chain::leaf
chain::main chain::outer <chain::Square_as_chain::Shape>::walk chain::inner chain::leaf
chain::main chain::outer chain::apply chain::leaf
chain::main chain::outer chain::guard chain::risky chain::thrower"

# stacks DUMP: user functions of each sample, outermost first, ";" between them
stacks() {
	"$loads/tool_stack" "$1" | cut -f1
}

# perf_stacks DUMP: the same by perf, from the export
perf_stacks() {
	"$RINGBACK" export -f perf -o "$work/perf.data" "$1" &&
		perf script -i "$work/perf.data" -F ip,sym --no-inline 2>/dev/null | awk '
			NF {
				sub(/^[ \t]*[0-9a-f]+ /, "")
				sub(/@.*/, "")
				stack = $0 (stack == "" ? "" : ";" stack)
			}
			!NF && stack != "" { print stack; stack = "" }
			END { if (stack != "") print stack }'
	rm -f "$work/perf.data"
}

# wrong PATHS: prints the stacks on stdin whose path is none of PATHS; then their number, the number
# of all, and of those with a path
wrong() {
	awk -F ';' -v paths="$1" '
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
			ok[""] = 1
		}
		{
			gsub(" ", "_")
			path = ""
			for (k = 1; k <= NF; k++)
				if ($k in own)
					path = path " " $k
			if (!(path in ok)) {
				bad++
				print
			} else if (path != "") {
				good++
			}
		}
		END { print bad + 0, NR, good + 0 }'
}

# ends DUMP: why its stacks end, with counts
ends() {
	"$loads/tool_stack" "$1" | cut -f3 | sort | uniq -c | sort -rn | sed 's/^ *//'
}

# at_most_one_in_100 TEXT: the last line of TEXT is "BAD ALL"
at_most_one_in_100() {
	tail -n 1 <<<"$1" | awk '{ exit !($2 >= 100 && $1 * 100 <= $2) }'
}

# shown NAME DUMP PATHS
shown() {
	local found

	found=$(stacks "$2" | wrong "$3")
	if at_most_one_in_100 "$found"; then
		ok "$1: the whole path is known of $(tail -n 1 <<<"$found" | awk '{ print $2 - $1 " of " $2 }') samples"
	else
		not_ok "$1: the whole path is known of 99 in 100 samples" "$(tac <<<"$found")"
	fi
}

# complete NAME DUMP [END]: 99 in 100 stacks reach the thread's beginning, or END
complete() {
	local found

	found=$(ends "$2" | awk -v end="${3-none}" '
		{ n += $1 }
		NF > 1 && !index($0, end) { bad += $1; print }
		END { print bad + 0, n }')
	if at_most_one_in_100 "$found"; then
		ok "$1: down to where the thread began"
	else
		not_ok "$1: down to where the thread began" "$found"
	fi
}

# beside_perf NAME DUMP PATHS: runs while the program's file exists, which perf needs
beside_perf() {
	local ours its

	ours=$(stacks "$2" | wrong "$3" | tail -n 1 | cut -d' ' -f3)
	its=$(perf_stacks "$2" | wrong "$3" | tail -n 1 | cut -d' ' -f3)
	if [ "$ours" -ge 100 ] && [ "$ours" -ge "$its" ]; then
		ok "$1: perf shows the whole path of no more of the same samples"
	else
		not_ok "$1: perf shows the whole path of no more of the same samples" "$ours, perf $its"
	fi
	echo "# $1: $ours samples with the whole path, perf $its"
	perf_paths[$1]=$its
}

channel='d:cpu-clock/freq=997/;stack=dwarf:8K'
declare -A dumps perf_paths
for name in dynamic not-pie clang static static-pie debug-frame libraries cxx musl musl-static go rust; do
	sampled $name --channel "$channel"
	dumps[$name]=$dump
done
sampled dynamic -e cpu-clock/freq=997/ -g=dwarf:8K
dumps[option]=$dump
sampled dynamic --channel 'd:cpu-clock/freq=4999/;stack=dwarf:128'
dumps[short]=$dump
for name in go rust-fp; do
	sampled $name --channel 'd:cpu-clock/freq=4999/;stack=fp'
	dumps[$name-fp]=$dump
done
for name in dynamic not-pie clang static static-pie debug-frame libraries; do
	beside_perf $name "${dumps[$name]}" "$c_paths"
done
beside_perf cxx "${dumps[cxx]}" "$cxx_paths"
beside_perf go "${dumps[go]}" "$go_paths"
beside_perf rust "${dumps[rust]}" "$rust_paths"
for name in dynamic not-pie clang static-pie libraries cxx rust; do
	check "$name: perf unwinds what is exported" test "${perf_paths[$name]}" -ge 100
done

# The programs are deleted before the dumps are read.
rm -rf "$bin"
for name in dynamic option not-pie clang static static-pie debug-frame libraries; do
	shown "$name" "${dumps[$name]}" "$c_paths"
	complete "$name" "${dumps[$name]}"
done
shown cxx "${dumps[cxx]}" "$cxx_paths"
complete cxx "${dumps[cxx]}"
shown go "${dumps[go]}" "$go_paths"
complete go "${dumps[go]}" "the callers have another stack, which was not copied"
shown rust "${dumps[rust]}" "$rust_paths"
complete rust "${dumps[rust]}"
shown "go by frame pointers" "${dumps[go-fp]}" "$go_paths"
# A panic goes through libraries without frame pointers.
equal "rust by frame pointers: the whole path is known of 99 in 100 samples in its own functions" 1 \
	"$(stacks "${dumps[rust-fp-fp]}" | grep ';chain::[a-z]*$' | wrong "$rust_paths" | tail -n 1 |
		awk '{ print ($2 >= 100 && $1 * 100 <= $2) }')"
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

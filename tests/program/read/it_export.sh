#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 300
#
# export -f folded, pprof, pftrace and ndjson: tests/compare/export_same.py, a reader that shares no
# code with the writers, parses each export and compares it with ringback script --json of the same
# dump.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

python=/usr/bin/python3 # Debian's, which has its modules

"$RINGBACK" record --config /dev/null --memory 0 -o "$work/dumps" --dump-on-exit -a --preset default -e raw_syscalls:sys_enter \
	--channel "ticks:cpu-clock/freq=499/;size=2M;stack=fp" \
	--channel "stacks:sched:sched_switch,sched:sched_process_fork;size=4M;stack=fp" -- \
	bash -c "for i in {1..100}; do /bin/true; done; gcc -O2 -I. -D_GNU_SOURCE -c -o '$work/o' dump/view/base/text.c" \
	>"$work/out" 2>"$work/err" </dev/null
dump=$(grep '\.rbd$' "$work/out")
check "a load is recorded" test -s "$dump"
"$RINGBACK" script --json "$dump" >"$work/json"
"$RINGBACK" info --json "$dump" >"$work/info"
"$RINGBACK" export -f ndjson --schema >"$work/schema"
check "there is something to compare" test "$(wc -l <"$work/json")" -gt 2000

for format in folded pprof pftrace ndjson; do
	check "$format: written" "$RINGBACK" export -f $format -o "$work/$format" "$dump"
	schema=
	[ $format != ndjson ] || schema=$work/schema
	result=$($python tests/compare/export_same.py $format "$work/json" "$work/info" "$work/$format" $schema 2>&1)
	equal "$format: says what script says" 0 $?
	echo "# $format: $result"
	"$RINGBACK" export -f $format "$dump" >"$work/stdout"
	check "$format: stdout gets the same" cmp "$work/stdout" "$work/$format"
done

# --- another reader: protoc, with the formats' descriptions ---
for format in pprof pftrace; do
	message=pprof.Profile proto=pprof read=zcat
	[ $format = pprof ] || message=perfetto.Trace proto=perfetto read=cat
	check "$format: protoc decodes it" \
		eval "$read '$work/$format' | protoc --proto_path=dump/view/export --decode $message dump/view/export/$proto.proto >'$work/decoded'"
	# protoc prints unknown fields by number.
	equal "$format: with no field that is not described" 0 "$(grep -cE '^ *[0-9]+[:{ ]' "$work/decoded")"
done

# --- --event, --from, --to ---
"$RINGBACK" export -f folded --event 'raw_syscalls:*' "$dump" >"$work/out" 2>"$work/err"
equal "events without stacks make no profile" 1 $?
check "those that have are named" grep -q 'hint: .*cpu-clock' "$work/err"
"$RINGBACK" export -f ndjson --event raw_syscalls:sys_enter --from -100ms "$dump" >"$work/out"
equal "ndjson takes a part of the events" "$("$RINGBACK" script --event raw_syscalls:sys_enter --from -100ms "$dump" | wc -l)" \
	$(($(wc -l <"$work/out") - 1))
"$RINGBACK" export -f folded --schema "$dump" >"$work/out" 2>"$work/err"
equal "--schema is of ndjson" 2 $?

# --- a damaged dump ---
head -c $(($(stat -c %s "$dump") * 2 / 3)) "$dump" >"$work/cut.rbd"
"$RINGBACK" script --json "$work/cut.rbd" >"$work/json" 2>/dev/null
"$RINGBACK" info --json "$work/cut.rbd" >"$work/info" 2>/dev/null
for format in pprof pftrace ndjson; do
	"$RINGBACK" export -f $format -o "$work/cut.$format" "$work/cut.rbd" 2>/dev/null
	equal "$format: of a cut dump what is whole is exported" 3 $?
done
check "a cut dump's ndjson" $python tests/compare/export_same.py ndjson "$work/json" "$work/info" "$work/cut.ndjson" "$work/schema"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # of recorder.sh
#
# In the guest: the output of the commands for a dump with real AUX areas, of a PMU whose head
# counts all bytes and of one whose head wraps. export -f aux gives the last bytes of the known
# sequence; info and script report what the kernel recorded.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/vm/guest/module.sh

size=16384

# is_sequence CPU WRITTEN EXPORT-ARG..: the export is not empty and holds the last of WRITTEN bytes
is_sequence() {
	local cpu=$1 written=$2

	shift 2
	rm -f "$work/aux"
	"$RINGBACK" export -f aux -o "$work/aux" "$@" && test -s "$work/aux" &&
		cmp "$work/aux" <("$loads/tool_aux" sequence "$cpu" "$written" | tail -c $size)
}

# dump: makes a dump and runs info and script on it
dump() {
	path=$(dump_now)
	"$RINGBACK" info --json "$path" >"$work/info.json"
	"$RINGBACK" script "$path" >"$work/script"
}

# said JQ-FILTER: a value from info --json
said() {
	jq -c "$1" "$work/info.json"
}

set_to rate 8192
set_to limit 20011
rec_start -a --symbols off --channel "count:rb_aux_count//;size=16K" --channel "mod:rb_aux_mod//;size=16K"
ticked 5 .
dump
check "the dump is whole" "$RINGBACK" check "$path"
for kind in count mod; do
	check "$kind: the last bytes of a CPU come out" is_sequence 3 20011 --channel $kind --cpu 3 "$path"
done
"$RINGBACK" export -f aux --cpu 2 "$path" >/dev/null 2>"$work/refused"
equal "two channels have that CPU: it is asked which" "1:hint: one of: --channel count --cpu 2, --channel mod --cpu 2" \
	"$?:$(grep -o 'hint: .*' "$work/refused")"
equal "info has them all, with their PMUs" '[["rb_aux_count",4],["rb_aux_mod",4]]' \
	"$(said '[.aux | group_by(.pmu)[] | [.[0].pmu, length]]')"
equal "as large and full as they were" "[$size,$size]" "$(said '[.aux[] | [.area_bytes, .bytes]] | unique | .[0]')"
equal "heads as the kernel told them" "[20011,$((20011 % size))]" "$(said '[.aux[].head] | unique | reverse')"
equal "a pause that was measured, and what was copied in it" true \
	"$(said '[.aux[] | .blackout_ns > 0 and .copy_ns > 0 and .copy_ns <= .blackout_ns and .stop > .start] | all')"
equal "no loss" '[]' "$(said '[.losses[] | select(test("hardware"))]')"
equal "a record for each" true "$(said '[.aux[].records >= 1] | all')"
equal "script shows these" "$(said '[.aux[].records] | add')" "$(grep -c 'PERF_RECORD_AUX: aux_offset=.*aux_size=' "$work/script")"
equal "and switches not unless asked" 0 "$(grep -c PERF_RECORD_SWITCH "$work/script")"
check "which are there, too" eval "'$RINGBACK' script --event 'PERF_RECORD_SWITCH*' '$path' | grep -q 'out=1'"

# --- warnings of the kernel ---
set_to flags 9
set_to limit 0
ticked 2 .
dump
set_to flags 0
equal "truncated and collided: info says so" 2 "$(said '[.losses[] | select(test("traces were truncated|lost data to collisions"))] | length')"
equal "and counts it" true "$(said '[.aux[] | .truncated >= 1 and .collision >= 1 and .partial == 0] | all')"
dump # the traces had these flags until after the dump before
ticked 2 .
dump
equal "the next dump does not count them again" 0 "$(said '[.aux[] | .truncated + .collision] | add')"
equal "nor does it have the flags" '[]' "$(said '[.aux[].flags[] | select(. == "truncated" or . == "collision")]')"
check "script has them still" grep -q 'PERF_RECORD_AUX: .* truncated collision' "$work/script"
rec_stop
equal "the recorder ends with 0" 0 "$rec_status"

# --- a thread ---
set_to limit 100003
bash -c 'while :; do :; done' &
load=$!
rec_start --tid $load --no-inherit --symbols off --channel "count:rb_aux_count//;size=16K"
ticked 3 "" rb_aux_count
dump
rec_stop
kill $load
check "of a thread: the last bytes that were written for it" \
	is_sequence -1 "$(said '.aux[0].head')" --tid $load "$path"
tap_end

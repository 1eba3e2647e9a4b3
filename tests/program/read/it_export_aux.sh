#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# export -f aux: the bytes of one AUX area, oldest first, are the last ones of the known sequence
# that the dump was made with. Of several areas one must be named; of a damaged one the bytes newer
# than the damage are exported. Also the output of the other commands for such a dump.
. tests/helpers/tap.sh

tools=${RINGBACK_BUILD:-build}/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dump=$work/x.rbd
# The values of tests/tools/tool_seed.c.
area=16384 written=(10003 1000019)

# is_sequence FILE CPU WRITTEN BYTES
is_sequence() {
	"$tools/tool_aux" sequence "$2" "$3" | tail -c "$4" | cmp - "$1"
}

# asked ARG...: runs export -f aux; keeps stdout, stderr
asked() {
	"$RINGBACK" export -f aux "$@" >"$work/out" 2>"$work/err"
}

"$tools/tool_seed" aux "$dump"
check "a dump with areas is whole" "$RINGBACK" check "$dump"

# --- an old dump kept in the tree: written by tool_seed aux when the format got areas ---
golden=tests/golden/aux.dump
check "an old dump with areas is whole" "$RINGBACK" check "$golden"
asked --cpu 1 --channel pt "$golden"
check "its areas are what they were" is_sequence "$work/out" 1 "${written[1]}" $area
equal "and what is said of them" '[{"ring":0,"pmu":"intel_pt","bytes":10003,"flags":["counting"]},{"ring":1,"pmu":"intel_pt","bytes":16384,"flags":["wrapped","counting"]},{"ring":2,"pmu":"rb_aux_count","bytes":10003,"flags":["counting"]},{"ring":3,"pmu":"rb_aux_count","bytes":0,"flags":["counting"]}]' \
	"$("$RINGBACK" info --json "$golden" | jq -c '[.aux | sort_by(.ring)[] | {ring, pmu, bytes, flags}]')"

# --- whole areas ---
asked --cpu 0 "$dump"
equal "an area that was never full is exported" 0 $?
check "it is all that was written" is_sequence "$work/out" 0 "${written[0]}" "${written[0]}"
asked --cpu 1 --channel pt -o "$work/one" "$dump"
equal "one that went around many times is exported to a file" 0 $?
check "it is the last bytes that were written" is_sequence "$work/one" 1 "${written[1]}" $area
equal "the file is private" 600 "$(stat -c %a "$work/one")"
asked --tid 77 "$dump"
equal "an area of a thread is exported" 0 $?
check "it is what was written there" is_sequence "$work/out" -1 "${written[0]}" "${written[0]}"
asked --cpu 1 --channel threads "$dump"
equal "an area that nothing was written to is exported" 0:0 "$?:$(stat -c %s "$work/out")"

# --- choice of the area ---
asked "$dump"
equal "several, and none is named" 1 $?
check "it says which there are" grep -q 'hint: .*--channel pt --cpu 0, --channel pt --cpu 1, --channel threads --tid 77' "$work/err"
asked --cpu 1 "$dump"
equal "two of one CPU" 1 $?
check "it says which these are" grep -q 'hint: one of: --channel pt --cpu 1, --channel threads --cpu 1$' "$work/err"
asked --cpu 9 "$dump"
equal "one that is not there" 1 $?
check "it says so" grep -q 'no such AUX area' "$work/err"
"$tools/tool_seed" dump "$work/none.rbd"
asked --cpu 0 "$work/none.rbd"
equal "a dump without areas" 1 $?
check "it says what would record some" grep -q 'hint: .*--channel pt:intel_pt//u' "$work/err"
for wrong in "--cpu -1" "--cpu x" "--tid 99999999999" "--from -1s" "--event x"; do
	# shellcheck disable=SC2086 # two words
	asked $wrong "$dump"
	equal "not taken: $wrong" 2 $?
done
"$RINGBACK" export -f folded --cpu 0 "$dump" >"$work/out" 2>"$work/err"
equal "not taken: --cpu with another format" 2 $?
script -qec "'$RINGBACK' export -f aux --cpu 0 '$dump'" /dev/null >"$work/out" 2>&1 </dev/null
check "a terminal is refused, with what to type" grep -q "export -f aux --cpu 0 -o x.aux $dump" "$work/out"

# --- damage ---
"$tools/tool_seed" aux "$work/hurt.rbd" 1
asked --cpu 1 --channel pt "$work/hurt.rbd"
equal "of an area that lacks its oldest part the newest is exported" 3 $?
check "it is as much as there is" is_sequence "$work/out" 1 "${written[1]}" $((area / 3))
check "it says what is missing" grep -q "AUX area of CPU 1 lacks $((area - area / 3)) bytes, up to $((area / 3)) before its newest" \
	"$work/err"
asked --cpu 0 "$work/hurt.rbd"
equal "another one is whole" 0 $?
head -c $(($(stat -c %s "$dump") * 2 / 3)) "$dump" >"$work/cut.rbd"
"$RINGBACK" check "$work/cut.rbd" --salvage "$work/saved.rbd" >/dev/null 2>&1
equal "of a cut dump the areas are salvaged" 3 $?
asked --cpu 0 "$work/saved.rbd"
check "the newest of one comes out" is_sequence "$work/out" 0 "${written[0]}" "$(stat -c %s "$work/out")"

# --- other commands ---
"$RINGBACK" info "$dump" >"$work/info"
check "info has a line for each" eval "[ \$(grep -c '^pt  *CPU\|^threads  *tid 77\|^threads  *CPU' '$work/info') -ge 4 ]"
equal "info --json has the bytes" "${written[0]} $area ${written[0]} 0" \
	"$("$RINGBACK" info --json "$dump" | jq -r '[.aux | sort_by(.ring)[].bytes] | join(" ")')"
check "script reads past them" "$RINGBACK" script "$dump"
check "report reads past them" "$RINGBACK" report "$dump"
check "diff reads past them" "$RINGBACK" diff "$dump" "$dump"
check "symbols reads past them" "$RINGBACK" symbols "$dump"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A dump that may not grow beyond a limit, for limits from nothing to its full size: it is refused as long as it has no record, else
# its whole blocks are kept, and trigger, check and info say so.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# limit BYTES|unlimited: largest file of the recorder
limit() {
	prlimit --pid "$rec_pid" --fsize="$1:unlimited"
}

in_background "$loads/load_switch" 900 >"$work/load"
wait_for 20 grep -q ready "$work/load"
rec_start -C "$pair" -m 256K -e sched:sched_switch --symbols off
wait_for 60 written_since 1000000
path=$(dump_now)
bytes=$(stat -c %s "$path")
refused=0 cut=0 unfinished=0 whole=0 wrong=
for ((i = 1; i <= 40; i++)); do
	rm -f "$path"
	at=$((bytes * i / 40))
	limit "$at"
	path=$(dump_now 2>"$work/trig")
	rc=$?
	limit unlimited
	files=("$work"/dumps/*)
	if [ $rc = 1 ]; then
		refused=$((refused + 1))
		[ "${files[0]}" = "$work/dumps/*" ] || wrong+="a refused dump left ${files[*]}; "
		grep -q 'File too large' "$work/trig" || wrong+="$(cat "$work/trig"); "
		continue
	fi
	[ "${files[*]}" = "$path" ] || wrong+="beside $path: ${files[*]}; "
	"$RINGBACK" check "$path" >"$work/check" 2>&1
	case $rc/$? in
	0/0) whole=$((whole + 1)) ;;
	3/0)
		cut=$((cut + 1))
		[ "$(info_json "$path" .cut)" = true ] || wrong+="$at: info does not tell; "
		;;
	3/3)
		unfinished=$((unfinished + 1))
		grep -q 'has no end: .*File too large' "$work/trig" || wrong+="$(cat "$work/trig"); "
		grep -q '; 0 B outside any block' "$work/check" || wrong+="$(cat "$work/check"); "
		;;
	*) wrong+="$at: trigger ended with $rc: $(cat "$work/check"); " ;;
	esac
	[ "$(stat -c %s "$path")" -le "$at" ] || wrong+="$at: longer; "
	[ "$("$RINGBACK" script "$path" 2>/dev/null | wc -l)" -gt 0 ] || wrong+="$at: no record is read; "
done
echo "# of a dump of $bytes bytes: $refused refused, $unfinished unfinished, $cut cut short, $whole whole"
empty "at every limit trigger, check and info agree" "$wrong"
check "without a record the dump is refused" test "$refused" -gt 0
check "with some, the dump is cut short" test "$cut" -gt 0
path=$(dump_now)
check "the next dump is whole" "$RINGBACK" check "$path"
equal "and not cut short" false "$(info_json "$path" .cut)"
rec_stop
equal "record ends with 0" 0 "$rec_status"
tap_end

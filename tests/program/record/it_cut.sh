#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A file that may not grow beyond a limit, at every place where that can hit a dump: it is refused as long as it has no record, else
# what is whole is kept, read and told.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# limit BYTES|unlimited: largest file of the recorder
limit() {
	prlimit --pid "$rec_pid" --fsize="$1:unlimited"
}

# Where the first block of a ring begins, and the file ends.
first_record_and_end() {
	python3 - "$1" <<'END'
import struct, sys

dump = open(sys.argv[1], "rb").read()
at = 64
while struct.unpack_from("<H", dump, at + 4)[0] != 7:
    at += 72 + (struct.unpack_from("<I", dump, at + 16)[0] + 7) // 8 * 8
print(at, len(dump))
END
}

rec_start -C "$pair" -m 256K -e sched:sched_switch --symbols off
in_background "$loads/load_switch" 900 >"$work/load"
wait_for 20 grep -q ready "$work/load"
wait_for 60 written_since 1000000
path=$(dump_now)
read -r first end < <(first_record_and_end "$path")
refused=0 cut=0 unfinished=0 whole=0 wrong=
for ((i = 0; i < 50; i++)); do
	rm -f "$path"
	# Close together where records begin, then in larger steps up to the end.
	at=$((i < 30 ? first - 4000 + i * 600 : first + (i - 30) * (end - first) / 18))
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
echo "# records from $first to $end: $refused refused, $unfinished unfinished, $cut cut short, $whole whole"
empty "at every limit trigger, check and info agree" "$wrong"
check "without a record the dump is refused" test "$refused" -gt 0
check "with few, the blocks are kept" test "$unfinished" -gt 0
check "with more, the dump gets an end" test "$cut" -gt 5
path=$(dump_now)
check "the next dump is whole" "$RINGBACK" check "$path"
equal "and says that it misses nothing" 0 "$(info_json "$path" '[.losses[] | select(test("earlier dump") | not)] | length')"
rec_stop
equal "record ends with 0" 0 "$rec_status"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Consecutive dumps leave no gap: a thread counts in a system call's argument and migrates; 20 dumps
# are made one after the other; no number is missing from the first to the last. With one bank there
# is a gap, and the reported gap covers all missing numbers.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# field NAME LINE
field() {
	sed -n "s/.*\b$1=\(-\?[0-9]*\).*/\1/p" <<<"$2"
}

# counted DUMPS RING BANKS: makes the dumps while load_count counts; $result: tool_gap's line,
# $overwritten: bytes overwritten between dumps because a ring was too small
counted() {
	local i tid paths=()

	rm -f "$work"/dumps/*
	rec_start -C "$pair" -m "$2" --banks "$3" --symbols off -e 'raw_syscalls:sys_enter[id==121]' || return 1
	in_background "$loads/load_count" 1000 >"$work/count"
	wait_for 20 test -s "$work/count"
	tid=$(head -n 1 "$work/count")
	for ((i = 0; i < $1; i++)); do
		paths+=("$(dump_now)") || return 1
	done
	kill "$bg_pid"
	rec_stop
	result=$("$loads/tool_gap" "$tid" "${paths[@]}")
	echo "# $3 banks, $1 dumps: $result"
	overwritten=$(field overwritten "$result")
}

# A slow machine writes more between two dumps. A run with overwritten events proves nothing, so it
# is repeated with larger rings.
result=""
for ring in 64M 64M 256M; do
	overwritten=
	counted 20 $ring 2 || break
	[ "$overwritten" != 0 ] || break
done
if [ -n "$overwritten" ]; then
	check "20 dumps were made one after the other" test "$(ls "$work"/dumps/*.rbd | wc -l)" = 20
	check "the rings were large enough for what came between two dumps" test "$overwritten" = 0
	check "there is much to count: a thousand numbers a dump" test "$(field numbers "$result")" -gt 20000
	check "with two banks no number is missing from the first to the last" \
		test "$(field missing "$result")" = 0
	check "consecutive dumps overlap on every ring" test "$(field overlap_min_ns "$result")" -gt 0
else
	not_ok "20 dumps with two banks" "$(cat "$work/err")"
fi

# A gap during which the load had no CPU loses no number.
overwritten=
for _ in 1 2 3 4 5; do
	counted 5 64M 1 || break
	[ "$(field missing "$result")" = 0 ] || break
done
if [ -n "$overwritten" ]; then
	check "with one bank there is a gap on some ring" test "$(field overlap_min_ns "$result")" -lt 0
	check "and numbers are missing" test "$(field missing "$result")" -gt 0
	check "and the reported gaps cover every missing number" test "$(field uncovered "$result")" = 0
else
	not_ok "5 dumps with one bank" "$(cat "$work/err")"
fi
tap_end

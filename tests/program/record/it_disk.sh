#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A full disk: a dump that can't begin is refused with a clear message, one that can't be written to its end has the newest
# records and says what is missing; recording goes on, and the next dump works when there is room again.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

if [ -z "${RINGBACK_OWN_MOUNTS-}" ]; then
	rm -rf "$work"
	RINGBACK_OWN_MOUNTS=1 exec unshare --mount --propagation private bash "$0"
fi
mkdir "$work/small"
mount -t tmpfs -o size=8M none "$work/small"
at_end+=("umount $work/small")

refused() { [ "$(grep -c 'recording continues' "$work/err")" -ge "$1" ]; }

# At most two CPUs: the file system is small.
rec_start -C "$pair" -m 16M -e sched:sched_switch -o "$work/small"
in_background "$loads/load_switch" 900 >"$work/load"
wait_for 20 grep -q ready "$work/load"
dd if=/dev/zero of="$work/small/filler" bs=64K count=122 2>/dev/null
check "less than 5 % free: ringback trigger fails" bash -c "! $RINGBACK trigger 2>$work/trig"
sed 's/^/# /' "$work/trig"
check "and says what is in the way" grep -qi 'free' "$work/trig"
check "the recorder says so too and goes on" wait_for 5 refused 1
check "nothing is left of the refused dump" test "$(ls "$work/small")" = filler
rm "$work/small/filler"
path=$(dump_now)
check "with room again the next dump is made" "$RINGBACK" check "$path"
check "it tells of the refused one's hit" test "$(info_json "$path" '[.trigger.merged[]?.hits] | add')" -ge 1
rm -f "$path"
# Room for the beginning of a dump only.
wait_for 60 written_since 33000000
dd if=/dev/zero of="$work/small/filler" bs=64K count=119 2>/dev/null
path=$(dump_now 2>"$work/trig")
equal "with room for a part only: ringback trigger exits with 3" 3 $?
sed 's/^/# /' "$work/trig"
check "says what is missing, and why" grep -q 'incomplete: .* of .* of rings are missing: .* KiB more would leave less' "$work/trig"
check "the recorder says so too" grep -q 'the dump is incomplete: .* are missing' "$work/err"
check "the dump is intact as far as it goes" "$RINGBACK" check "$path"
equal "info says that it was cut short" true "$(info_json "$path" '.cut and (.losses[0] | test("cut short.*missing"))')"
check "what is missing of a ring counts as overwritten" test "$(info_json "$path" '[.rings[] | select(.samples > 0 and .ring_bytes > .bytes and .overwritten_bytes > .bytes)] | length')" -gt 0
equal "and the records that it says it has" "$(info_json "$path" '[.rings[].samples] | add')" "$("$RINGBACK" script "$path" | wc -l)"
for cmd in why report; do
	check "$cmd reads it" "$RINGBACK" "$cmd" "$path"
done
free=$(df --output=avail -k "$work/small" | tail -n 1)
check "the last 5 % of the file system are never touched ($free KiB free)" test "$free" -ge 409
check "no unfinished file is left" test -z "$(find "$work/small" -name '*.part')"
check "it still runs" "$RINGBACK" status
kill "$bg_pid"
rec_stop
check "it ends with 0" test "$rec_status" = 0

# A file, a path in /proc, where no directory can be made, and a path below a missing directory.
touch "$work/file"
for bad in "$work/file" /proc/nothing "$work/no/such/dir"; do
	"$RINGBACK" record --config /dev/null --memory 0 -a -m 64K -e sched:sched_switch -o "$bad" >"$work/o" 2>"$work/e" </dev/null
	rc=$?
	check "-o $bad is refused at the start" test "$rc" = 1
	check "with its name and a hint" bash -c "grep -q 'ringback: .*$bad' $work/e && grep -q hint: $work/e"
done
mount -t tmpfs -o ro none "$work/small"
check "so is a read-only file system" bash -c "! $RINGBACK record --config /dev/null --memory 0 -a -m 64K -e sched:sched_switch -o $work/small 2>$work/e"
umount "$work/small"
tap_end

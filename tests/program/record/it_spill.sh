#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --spill: a directory that is full from the beginning, fills up late, becomes read-only or is unmounted loses no dump and nothing of it.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

if [ -z "${RINGBACK_OWN_MOUNTS-}" ]; then
	rm -rf "$work"
	RINGBACK_OWN_MOUNTS=1 exec unshare --mount --propagation private bash "$0"
fi
mkdir "$work/small" "$work/spill"
mount -t tmpfs -o size=8M none "$work/small"
mount -t tmpfs -o size=64M none "$work/spill"
at_end+=("umount $work/spill" "umount -l $work/small 2>/dev/null")

# spills NAME: the next dump is in the spill directory, whole, and nothing is left in the other one
spills() {
	local path

	path=$(dump_now 2>"$work/trig")
	equal "$1: the dump is made" 0 $?
	equal "$1: in the spill directory" "$work/spill" "${path%/*}"
	check "$1: it is whole" "$RINGBACK" check "$path"
	equal "$1: nothing of it is missing" false "$(info_json "$path" .cut)"
	nr=$((nr + 1))
	equal "$1: the recorder says why, once" "$nr" "$(grep -c "the dump goes to $work/spill: " "$work/err")"
	equal "$1: no part is left" "" "$(find "$work/small" "$work/spill" -name '*.part')"
}
nr=0

# fill: until the rings have been overwritten
fill() {
	wait_for 60 written_since $(($(written) + 17000000))
}

rec_start -C "$pair" -m 8M -e sched:sched_switch -o "$work/small" --spill "$work/spill" --max-dumps 2
in_background "$loads/load_switch" 900 >"$work/load"
wait_for 20 grep -q ready "$work/load"
fill
path=$(dump_now)
equal "as long as there is room, dumps go to -o" "$work/small" "${path%/*}"
bytes=$(stat -c %s "$path")
rm "$path"
dd if=/dev/zero of="$work/small/filler" bs=64K count=122 2>/dev/null
spills "full from the beginning"
dd if=/dev/zero of="$work/small/filler" bs=64K count=119 2>/dev/null
fill
spills "full when half is written"
rm "$work/small/filler"
fill
prlimit --pid "$rec_pid" --fsize=$((bytes * 2 / 3)):unlimited
path=$(dump_now 2>"$work/trig")
rc=$?
sed 's/^/# /' "$work/trig"
equal "where the spill directory fails too, the dump is cut short there" 3/"$work/spill" "$rc/${path%/*}"
prlimit --pid "$rec_pid" --fsize=unlimited:unlimited
nr=$((nr + 1))
mount -o remount,ro "$work/small"
spills "read-only"
mount -o remount,rw "$work/small"
umount -l "$work/small"
chmod 555 "$work/small"
mount -o ro --bind "$work/small" "$work/small"
spills "unmounted"
umount "$work/small"
chmod 755 "$work/small"
equal "--max-dumps applies to the spill directory" 2 "$(find "$work/spill" -name '*.rbd' | wc -l)"
"$RINGBACK" status >"$work/status"
check "status tells" grep -q "^spilled:    $nr dumps to $work/spill: " "$work/status"
path=$(dump_now)
equal "with its directory back, dumps go to -o" "$work/small" "${path%/*}"
rec_stop
equal "record ends with 0" 0 "$rec_status"

check "a spill directory that can't be used is refused at the start" bash -c "! $RINGBACK record --config /dev/null --memory 0 -a -m 64K -e sched:sched_switch -o $work/dumps --spill /proc/nothing 2>$work/e"
check "with its name" grep -q /proc/nothing "$work/e"
tap_end

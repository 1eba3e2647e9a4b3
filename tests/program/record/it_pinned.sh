#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Held program files: for an ended process with a replaced or deleted file, every frame still has
# the right function of the old file, with a build-id and without. The recorder holds a file only
# where that keeps no file system busy, and only as long as a ring may refer to it; it is not woken
# for that, and an option turns it off.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# build FILE [FLAG...]: tests/helpers/known.c
build() {
	local file=$1

	shift
	gcc -O1 -g -fno-omit-frame-pointer -fno-stack-protector -fcf-protection=none -nostdlib -static "$@" -o "$file" tests/helpers/known.c
}

# replace FILE...: replaces the files by another build with other addresses
replace() {
	local file

	for file; do cp "$work/other" "$work/new" && mv "$work/new" "$file"; done
}

status() {
	"$RINGBACK" status --json
}

# named K FILE: all frames of known-K in the file have the right name
named() {
	"$RINGBACK" script --json --comm "known-$1" "$path" |
		jq -r --arg dso "$2" '.chain[]? | select(.dso == $dso) | .function // "-"' >"$work/names"
	echo "# known-$1 in ${2##*/}: $(wc -l <"$work/names") frames"
	check "... there are enough frames" test "$(wc -l <"$work/names")" -ge 100
	empty "... every one has the right function" "$(grep -vxE "spin_$1|call_$1|entry|_start|now_ns|ask" "$work/names" | sort | uniq -c)"
	check "... most of them the innermost" test "$(grep -cx "spin_$1" "$work/names")" -ge 50
}

# unnamed K WHY: no frame has a name, and the dump says why
unnamed() {
	equal "... no frame gets a name" "-" "$("$RINGBACK" script --json --comm "known-$1" "$path" |
		jq -r '.chain[]? | select(.dso | contains("/")?) | .function // "-"' | sort -u)"
	check "... and it is said why" grep -q "$2" <("$RINGBACK" symbols "$path")
}

record() {
	rec_start -a --channel "cpu:cpu-clock/freq=1999/u;size=8M;stack=fp" "$@"
}

build "$work/known" -Wl,--build-id=sha1
build "$work/plain" -Wl,--build-id=none
build "$work/other" -DSHIFT -Wl,--build-id=sha1
check "the two have build-ids" test "$(readelf -n "$work/known" "$work/other" | grep -c 'Build ID')" = 2
check "the third has none" test "$(readelf -n "$work/plain" | grep -c 'Build ID')" = 0

# ---- replaced, deleted, moved away and replaced; on another file system ----
mkdir "$work/mounted"
mount -t tmpfs none "$work/mounted"
at_end+=("umount '$work/mounted' 2>/dev/null")
for name in replaced deleted moved late; do cp "$work/known" "$work/$name"; done
cp "$work/plain" "$work/plain-replaced"
cp "$work/known" "$work/mounted/away"
record
"$work/replaced" 1 400
"$work/deleted" 2 400
"$work/plain-replaced" 3 400
"$work/mounted/away" 4 400
"$work/moved" 5 400
check "files are held once it was heard of them" test "$(status | jq .ledger.files)" -ge 4
replace "$work/replaced" "$work/plain-replaced"
rm "$work/deleted"
mv "$work/moved" "$work/moved.old"
replace "$work/moved"
check "a file system that is mounted elsewhere is not kept busy" umount "$work/mounted"
path=$(dump_now)
echo "# replaced by another file"
named 1 "$work/replaced"
echo "# deleted"
named 2 "$work/deleted"
echo "# replaced, without a build-id"
named 3 "$work/plain-replaced"
echo "# moved away, and another in its place"
named 5 "$work/moved"
echo "# on a file system that was unmounted"
unnamed 4 "/away .* 0 %.*not there"
check "the dump is whole" "$RINGBACK" check "$path"
rm -f "$path"

# ---- a file overwritten in place is lost ----
"$work/late" 6 400
status >/dev/null
cat "$work/other" >"$work/late"
path=$(dump_now)
echo "# written over in place"
unnamed 6 "/late .* 0 %.*another file"
rec_stop
rm -f "$path"

# ---- processes seen only by the scan at the start ----
for name in scanned scanned-plain; do cp "$work/known" "$work/$name"; done
cp "$work/plain" "$work/scanned-plain"
in_background "$work/scanned" 1 3000
in_background "$work/scanned-plain" 2 3000
scanned=$bg_pid
record
wait "$scanned"
sleep 0.3
replace "$work/scanned" "$work/scanned-plain"
path=$(dump_now)
echo "# it was there before the recorder"
named 1 "$work/scanned"
echo "# it was there before the recorder, without a build-id"
named 2 "$work/scanned-plain"
rec_stop
rm -f "$path"

# ---- switched off by an option ----
cp "$work/known" "$work/unheld"
record --hold-files=no
"$work/unheld" 7 400
equal "--hold-files=no: nothing is held" 0 "$(status | jq .ledger.files)"
replace "$work/unheld"
path=$(dump_now)
unnamed 7 "/unheld .* 0 %.*another file"
rec_stop
rm -f "$path"

# ---- files are released ----
deleted_held() {
	find "/proc/$rec_pid/fd" -lname "$work/many-*(deleted)" | wc -l
}
# other_fds: number of the recorder's descriptors, without those of held files
other_fds() {
	local files

	files=$(status | jq .ledger.files)
	echo $(($(find "/proc/$rec_pid/fd" -lname '*' | wc -l) - files))
}
none_held() {
	status >/dev/null
	[ "$(deleted_held)" = 0 ]
}
rec_start -a -m 64K -e sched:sched_switch,sched:sched_wakeup
before=$(other_fds)
for ((i = 0; i < 300; i++)); do
	cp "$work/known" "$work/many-$i"
	# Gives each copy a build-id of its own.
	objcopy --update-section .note.gnu.build-id=<(printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\0%020d' "$i") "$work/many-$i"
	"$work/many-$i" 1 1
done
status >/dev/null
rm "$work"/many-*
held=$(deleted_held)
rss=$(status | jq .cost.rss_bytes)
echo "# $before descriptors but for held files; $held deleted files held; $rss bytes resident"
check "programs that have ended are held" test "$held" -ge 1
in_background "$loads/load_switch" 900 >"$work/load"
check "... and let go when no ring refers to them any more" wait_for 40 none_held
sleep 0.2
after=$(other_fds)
grown=$(($(status | jq .cost.rss_bytes) - rss))
echo "# $after descriptors but for held files afterwards, $(status | jq .ledger.files) files held; $grown bytes more are resident"
check "... with their descriptors" test "$after" -le $((before + 3))
check "... and no memory is left behind" test "$grown" -le $((1 << 20))
kill "$bg_pid"
wait "$bg_pid" 2>/dev/null
rec_stop

# ---- the limit ----
(
	ulimit -n 512
	echo "$BASHPID" >"$work/limited"
	RINGBACK_RUNTIME_DIR=$work/run exec setpriv --inh-caps=-sys_resource --bounding-set=-sys_resource "$RINGBACK" record \
		--config /dev/null -o "$work/dumps" -a -m 64K -e sched:sched_switch >"$work/out" 2>"$work/err" </dev/null
) &
rec_pid=$!
wait_for 60 grep -q '^ringback: recording' "$work/err"
for ((i = 0; i < 80; i++)); do
	cp "$work/known" "$work/many-$i" && "$work/many-$i" 1 1
done
status >"$work/status"
echo "# of at most 512 descriptors: $(jq -c '[.ledger.files, .ledger.files_dropped]' "$work/status") held, let go early"
check "no more than an eighth of the descriptors is used" test "$(jq .ledger.files "$work/status")" -le 64
check "... the rest is counted" test "$(jq .ledger.files_dropped "$work/status")" -ge 16
check "... and a dump is made" test -s "$(dump_now)"
rec_stop
tap_end

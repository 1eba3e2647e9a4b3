#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # what is evaluated later
#
# Intel PT in ringback's output, for a real dump with traces of stepped programs put into it
# (tests/tools/tool_pt.c). script has every call and return of the step logs, in order, from the
# code in the dump when a program's file is gone; report, page and pftrace have the same calls.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

rb=$RINGBACK
step() { "$loads/tool_pt" step -c 0 "$@" >/dev/null; }

# Two programs; one is a private copy, deleted before the dump is read.
cp /usr/bin/gzip "$work/packer"
rec_start -a -e cpu-clock/freq=99/
step -o "$work/1.pt" -l "$work/1.log" -- sort LICENSE
# One trace long enough to be split between decoder threads.
step -q -r 40 -o "$work/3.pt" -l "$work/3.log" -- true
step -o "$work/2.pt" -l "$work/2.log" -x "$rb trigger >$work/path" -- "$work/packer" -c LICENSE
rec_stop
path=$(cat "$work/path")
check "the dump is there" test -s "$path"
"$loads/tool_pt" graft --cpu 0 "$path" "$work/pt.rbd" "$work/1.pt" "$work/1.log" "$work/2.pt" "$work/2.log"
equal "it has the traces" 0 $?
# Collects names and code as the recorder does for a dump with such areas.
"$rb" symbols --collect=20000000000,0,-1 <"$work/pt.rbd" | cat >"$work/names"
"$loads/tool_names" "$work/pt.rbd" "$work/named.rbd" <"$work/names"
equal "names and code go into it" 0 $?
check "it is whole" "$rb" check "$work/named.rbd"
rm "$work/packer"

# ---- script ----
# steps PROGRAM: script's steps of it, one per line
steps() {
	"$rb" script --event call,return,out,back,lost "$work/named.rbd" | awk -v p="$1" '$1 == p { sub(":", "", $5); print $5 }'
}

"$rb" script --event call,return,out,back,lost "$work/named.rbd" >"$work/script"
for n in 1:sort 2:packer; do
	steps "${n#*:}" >"$work/shown"
	sed -E '/^(call|return|off|on) /!d; s/ .*//; s/^off$/out/; s/^on$/back/' "$work/${n%:*}.log" >"$work/logged"
	check "${n#*:} makes calls" test "$(wc -l <"$work/logged")" -gt 1000
	equal "${n#*:}: every call and return, in order" "" "$(diff "$work/logged" "$work/shown" | head -n 5)"
done
check "functions have names" grep -q 'call: .*__libc_start' "$work/script"
check "the program that is gone is known by its place" grep -q 'packer+0x' "$work/script"
equal "its trace has no gaps" 0 "$(grep -c 'lost:' "$work/script")"
"$rb" script --no-pt "$work/named.rbd" >"$work/without"
"$rb" script "$work/named.rbd" >"$work/all"
equal "without it script is the rest" "" "$(grep -vE ' (call|return|out|back|lost): ' "$work/all" | diff - "$work/without" | head -n 5)"
equal "with it, all of both" $(($(wc -l <"$work/without") + $(wc -l <"$work/script"))) "$(wc -l <"$work/all")"
"$rb" script --json --event call,return "$work/named.rbd" >"$work/json"
equal "as JSON too" "$(grep -cE ' (call|return): ' "$work/script")" "$(jq -r .event "$work/json" | grep -cE '^(call|return)$')"
equal "where time never goes back" true "$(jq -s '[.[].t] | . == sort' "$work/json")"
equal "at most so many lines" 100 "$("$rb" script --limit 100 --event call "$work/named.rbd" | wc -l)"
equal "from some moment on" "$(jq 'select(.t >= -500000) | .t' "$work/json" | wc -l)" \
	"$("$rb" script --from -500us --event call,return "$work/named.rbd" | wc -l)"
check "symbols tells what code it has" eval '"$rb" symbols "$work/named.rbd" | grep -q "code that Intel PT traced: .* files"'

# ---- a dump without code ----
"$rb" script --event call,return,out,back,lost "$work/pt.rbd" >"$work/files"
check "of files that are there, calls are known" test "$(grep -c ' call: ' "$work/files")" -gt 1000
check "where code is missing, a gap is told" grep -q 'lost: .*gap' "$work/files"

# ---- several threads ----
cp "$path" "$work/long.rbd"
for cpu in 0 1; do
	"$loads/tool_pt" graft --cpu $cpu "$work/long.rbd" "$work/longer.rbd" "$work/3.pt" "$work/3.log" &&
		mv "$work/longer.rbd" "$work/long.rbd"
done
"$rb" script "$work/long.rbd" >"$work/several"
taskset -c 0 "$rb" script "$work/long.rbd" >"$work/one"
check "a long trace is long" test "$(stat -c %s "$work/3.pt")" -gt $((4 * 65536))
check "and has calls" test "$(grep -c ' call: ' "$work/one")" -gt 10000
check "several threads show what one does" cmp "$work/several" "$work/one"
equal "of some time too" "$("$rb" script --from -1s --to -1us --event call,return "$work/long.rbd" | md5sum)" \
	"$(taskset -c 0 "$rb" script --from -1s --to -1us --event call,return "$work/long.rbd" | md5sum)"
equal "and the first lines" "" "$("$rb" script --limit 1000 "$work/long.rbd" | diff - <(head -n 1000 "$work/one"))"

# ---- report ----
COLUMNS=80 "$rb" report "$work/named.rbd" >"$work/report"
check "report tells call by call" grep -q '^CALL BY CALL' "$work/report"
check "the last calls" grep -q 'the last calls on CPU 0, of packer' "$work/report"
check "and where it was in the end" grep -qE '^    in: .*_exit' "$work/report"
equal "in 80 columns" 0 "$(awk 'length > 80' "$work/report" | wc -l)"
equal "a report of a dump without it does not mention it" 0 "$("$rb" report "$path" | grep -c 'CALL BY CALL')"

# A thread id that another program has at the end: its calls were made by the program before.
last_pid=/proc/sys/kernel/ns_last_pid
rec_start -a -e cpu-clock/freq=99/
step -o "$work/4.pt" -l "$work/4.log" -- sort LICENSE
tid=$(sed -n 's/^# task \([0-9]*\) .*/\1/p' "$work/4.log")
for ((i = 0; i < 100; i++)); do
	echo $((tid - 1)) 2>/dev/null >$last_pid
	in_background sleep 1000
	[ "$bg_pid" != "$tid" ] || break
	kill "$bg_pid"
done
path4=$(dump_now)
rec_stop
"$loads/tool_pt" graft --cpu 0 "$path4" "$work/reused.rbd" "$work/4.pt" "$work/4.log"
if [ "$bg_pid" = "$tid" ]; then
	equal "a thread has the name it had when it made its calls" sort \
		"$("$rb" report "$work/reused.rbd" | sed -n '/^CALL BY CALL/,/^$/p' | awk -v t="$tid" '$2 == t { print $1 }' | head -n 1)"
else
	skip "a thread has the name it had when it made its calls" "the id could not be chosen: $last_pid"
fi

# ---- page, pftrace ----
"$rb" report --html "$work/page.html" "$work/named.rbd" 2>/dev/null
check "a page is made" test -s "$work/page.html"
"$rb" export -f pftrace -o "$work/x.pftrace" "$work/named.rbd" 2>/dev/null
protoc --proto_path=dump/view/export --decode perfetto.Trace dump/view/export/perfetto.proto <"$work/x.pftrace" >"$work/decoded"
equal "pftrace: what begins ends" "$(grep -c '^    type: 1$' "$work/decoded")" "$(grep -c '^    type: 2$' "$work/decoded")"
check "it has a slice a call" test "$(grep -c '^    type: 1$' "$work/decoded")" -ge "$(jq -r .event "$work/json" | grep -c '^call$')"
tap_end

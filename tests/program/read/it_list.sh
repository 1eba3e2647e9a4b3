#!/bin/bash
# SPDX-License-Identifier: MIT
# list shows the dumps in a directory; a command without a dump's name takes the newest one.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

RINGBACK=$(realpath "$RINGBACK")
sources=$PWD
rec_start -n lister -p $$ -e dummy -m 16K
equal "a directory without dumps is no error" 0 "$("$RINGBACK" list >"$work/list" 2>"$work/list.err"; echo $?)"
check "and is named" grep -q "^ringback: there is no dump in $work/dumps\$" "$work/list.err"
for command in why report script info show; do
	"$RINGBACK" $command >"$work/o" 2>"$work/e"
	equal "$command without a dump, where there is none: exit code, output, hint" "2 0 1" \
		"$? $(wc -c <"$work/o") $(grep -c "hint: write ringback $command DUMP" "$work/e")"
done
first=$(dump_now -n lister --reason one)
second=$(dump_now -n lister --reason two --comm nginx --pid 1)
cp "$first" "$work/dumps/z-copy.rbd" # sorts behind all others by name
head -c 3000 "$first" >"$work/dumps/ringback-x-20991231T235959.000Z-cut.rbd.part"
touch "$work/dumps/notes"

"$RINGBACK" list >"$work/list" 2>"$work/list.err"
empty "list says nothing else" "$(cat "$work/list.err")"
files() {
	sed 's,.*/,,' "$work/list"
}
equal "newest last, whatever the name" "FILE ${first##*/} z-copy.rbd ${second##*/} ringback-x-20991231T235959.000Z-cut.rbd.part" \
	"$(files | sed 's/.* //' | tr '\n' ' ' | sed 's/ $//')"
check "time, host, name, trigger, process, size and state of each" grep -qE \
	"^20[0-9-]+T[0-9:.]+Z +$(uname -n) +lister +manual +ringback [0-9]+ +[0-9.]+ KiB +complete +$first\$" "$work/list"
check "what was cut off is incomplete" grep -qE 'KiB +incomplete .*cut.rbd.part$' "$work/list"

"$RINGBACK" list --why "$work/dumps" >"$work/why"
equal "the verdict of each, on request" "$("$RINGBACK" why "$first" | head -n 1)" "$(sed -n "s,.*$first  *,,p" "$work/why")"
"$RINGBACK" list --json "$work/dumps" >"$work/json"
equal "as JSON" 'one complete one complete two (nginx) (pid 1) complete one incomplete' \
	"$(jq -r '"\(.reason) \(.state)"' "$work/json" | tr '\n' ' ' | sed 's/ $//')"
equal "its keys are those of SCHEMA.md" "$(sed -n '/^## list/,/^## script/s/^| `\([a-z_]*\)`.*/\1/p' dump/view/SCHEMA.md | sort)" \
	"$(jq -r 'keys[]' "$work/json" | sort -u)"

for command in why report script info show; do
	"$RINGBACK" $command >"$work/o" 2>"$work/e"
	equal "$command without a dump reads the newest and says which" "0 1" \
		"$? $(grep -cx "ringback: reading the newest dump, $second" "$work/e")"
done
for command in why report script info show check symbols pin "export -f ndjson"; do
	# shellcheck disable=SC2086 # a command with its options
	"$RINGBACK" $command LAST >"$work/o" 2>"$work/e"
	equal "$command LAST: the newest" "0 1" "$? $(grep -cx "ringback: reading the newest dump, $second" "$work/e")"
done
"$RINGBACK" pin --remove LAST 2>"$work/e"
"$RINGBACK" diff "$first" LAST >"$work/o" 2>"$work/e"
equal "diff takes it, too" 0 $?
equal "show is why and report" "$("$RINGBACK" why "$second"; echo; "$RINGBACK" report "$second")" "$("$RINGBACK" show "$second")"
"$RINGBACK" why ./LAST >"$work/o" 2>"$work/e"
equal "a file of that name has a path" 1 "$(grep -c "./LAST" "$work/e")"
equal "stdout has the dump's own text only" "$("$RINGBACK" info "$second")" "$("$RINGBACK" info 2>/dev/null)"
rec_stop
cd "$work/dumps" || exit 1
"$RINGBACK" list >"$work/list" 2>&1
if [ -e /etc/ringback/ringback.conf ]; then
	skip "without a recorder the current directory is looked at" "this machine has a configuration"
else
	check "without a recorder the current directory is looked at" grep -q " ${second##*/}\$" "$work/list"
fi
cd "$sources" || exit 1
"$RINGBACK" list "$work/nowhere" >"$work/o" 2>"$work/e"
equal "a directory that is not there" "1 1" "$? $(grep -c "can't list $work/nowhere: No such file" "$work/e")"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # what is evaluated later
#
# `ringback report --html`: a headless Chromium uses the page (tests/compare/html_page.js). Its
# numbers equal those of `script --json` and `report`; names and texts that look like markup stay
# text; the file is private and does not replace others by accident. For a storm that fills 128 MiB
# of rings the page is small enough, and says what it leaves out.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

page=$work/page.html
hostile='</script><b>x'
reason='</script><script>window.injected=1</script><img src=x onerror="window.injected=1">&amp;'

# html FILE ARG...: sets $status
html() {
	"$RINGBACK" report --html "$@" >"$work/stdout" 2>"$work/stderr"
	status=$?
}

# A thread with a name that would end a script.
burn_badly() {
	printf '%s' "$hostile" >"/proc/$BASHPID/comm"
	for ((;;)); do :; done
}

# tid_of NAME: tid of a thread of the load
tid_of() {
	grep -lx "$1" /proc/"$load"/task/*/comm | cut -d/ -f5
}

in_background "$loads/load_roles" 900 >"$work/load"
load=$bg_pid
wait_for 20 grep -q ready "$work/load"
in_background burn_badly
bad=$bg_pid
rec_start -a --preset waits -m 2M
sleep 2
burner=$(tid_of burner) waiter=$(tid_of waiter) holder=$(tid_of holder)
path=$(dump_now --reason "$reason")
rec_stop
kill "$bad" "$load"

# ---- the file ----
html "$page" "$path"
equal "a page is made" 0 $status
equal "it says nothing" "" "$(cat "$work/stdout" "$work/stderr")"
equal "it is private" 600 "$(stat -c %a "$page")"
check "it begins as a page" eval 'head -c 15 "$page" | grep -q "^<!DOCTYPE html>"'
check "it is whole" eval 'tail -n 1 "$page" | grep -q "^</html>$"'
equal "it has two scripts, as written: data and code" 2 "$(grep -c '<script' "$page")"
equal "which end twice" 2 "$(grep -c '</script>' "$page")"
check "it refers to nothing elsewhere" eval '! grep -qiE "(src|href)=\"?(https?:)?//|url\(|@import|fetch\(|XMLHttpRequest|WebSocket" "$page"'
check "a policy forbids the network" grep -q "Content-Security-Policy.*default-src 'none'" "$page"
cp "$page" "$work/first.html"
html "$page" "$path"
equal "a file that is there is not replaced" 1 $status
check "the hint says how" grep -q -- '--force' "$work/stderr"
check "and it is as before" cmp "$page" "$work/first.html"
html "$page" --force "$path"
equal "--force replaces it" 0 $status
html "$work/none/page.html" "$path"
equal "a directory that is not there is an error" 1 $status
html "$page" --force --comm burner "$path"
equal "a page is of all threads" 2 $status
html /dev/full "$path"
equal "a full disk is told" 1 $status
cp "$path" "$work/cut.rbd"
truncate -s -5000 "$work/cut.rbd"
html "$work/cut.html" "$work/cut.rbd"
equal "of a damaged dump it says so" 3 $status
check "and makes a page of what is whole" test -s "$work/cut.html"
html "$work/part.html" --from -200ms --to -100ms "$path"
equal "a part of the time can be asked for" 0 $status
check "and makes a smaller page" test "$(stat -c %s "$work/part.html")" -lt "$(stat -c %s "$page")"
equal "nothing is left beside the pages" "" "$(find "$work" -name '.*.html*')"

# ---- contents, counted from script ----
"$RINGBACK" script --json "$path" >"$work/events"
"$RINGBACK" why "$path" | head -n 1 >"$work/verdict"
"$RINGBACK" why --json "$path" >"$work/why"
reported=$(COLUMNS=200 "$RINGBACK" report --tid "$burner" "$path" |
	sed -nE '/^WHAT RAN/,/^$/s/^  burner +[0-9]+ +[0-9.]+% [= ]* +([0-9.]+ (s|ms)) .*/\1/p')
jq -n --rawfile verdict "$work/verdict" --arg reason "$reason" --arg hostile "$hostile" --arg reported "$reported" \
	--argjson burner "${burner:-0}" --argjson waiter "${waiter:-0}" --argjson holder "${holder:-0}" \
	--slurpfile events "$work/events" --slurpfile why "$work/why" '
	{verdict: ($verdict | rtrimstr("\n")), $reason, $hostile, $reported, $burner, $waiter, $holder,
	 blame: ($why[0].blame | if length < 2 and all(.others == [] and .quota_ns == 0) then [] else map([.name, .waited_ns]) end),
	 function: ([$events[] | select(.tid == $burner and .event == "cpu-clock") | .chain[0] | .function // empty][0] // "load_roles"),
	 switches: [$events[] | select(.event == "sched:sched_switch") |
		{at: .t, cpu, prev: .fields.prev_pid, next: .fields.next_pid}],
	 samples: [$events[] | select(.event == "cpu-clock") | {at: .t, tid}]}' >"$work/want.json"
check "the dump has what is looked for" jq -e '(.switches | length > 100) and (.samples | length > 20) and
	.burner > 0 and .waiter > 0 and .holder > 0 and .reported != ""' "$work/want.json"

# RINGBACK_PICTURES keeps the pictures in a directory
pictures=${RINGBACK_PICTURES:-$work/browser}
mkdir -p "$pictures"
timeout -k 5 500 node tests/compare/html_page.js "$page" "$work/want.json" "$pictures" >"$work/used" 2>"$work/node"
while read -r is name; do
	case $is in
	ok) ok "$name" ;;
	bad) not_ok "${name%%: *}" "${name#*: }" ;;
	esac
done <"$work/used"
check "the page was used to the end" eval 'grep -qx end "$work/used" || { cat "$work/node"; false; }'
rm -rf "$pictures/profile"

# ---- a storm ----
in_background "$loads/load_switch" 900 >"$work/load"
load=$bg_pid
rec_start -a -m 64M --banks 1
check "a storm fills the rings" wait_for 200 written_since $((150 << 20))
big=$(dump_now)
rec_stop
kill "$load"
html "$work/big.html" "$big"
equal "a page of 128 MiB of rings is made" 0 $status
check "of at most 15 MB" test "$(stat -c %s "$work/big.html")" -le 15000000
timeout -k 5 500 node tests/compare/html_storm.js "$work/big.html" "$pictures" >"$work/used" 2>"$work/node"
rm -rf "$pictures/profile"
sed 's/^/# /' "$work/used"
check "it opens, and a zoom is drawn" eval 'grep -q "^ready [0-9]" "$work/used" && grep -q "^frame [0-9]" "$work/used"'
check "detail that was left out is said" grep -qE '^merged (0 $|[1-9][0-9]* Detail was left out)' "$work/used"
check "what was merged adds up" eval 'awk "/^off/ { exit !(\$2 <= 1000000) }" "$work/used"'
check "without complaints" grep -qx 'problems 0' "$work/used"
tap_end

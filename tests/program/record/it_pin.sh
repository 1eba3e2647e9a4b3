#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# A pinned dump stays whatever the limits ask for, until the pin is removed.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# At most two CPUs, so that a dump stays small on a large machine.
rec_start -C "$pair" -m 64K -e sched:sched_switch --max-dumps 2
pinned=$(dump_now)
check "pin" "$RINGBACK" pin "$pinned"
check "twice is as good as once" "$RINGBACK" pin "$pinned"
check "list says so" bash -c "'$RINGBACK' list '$work/dumps' | grep -q 'complete, pinned .*${pinned##*/}\$'"
check "so does its JSON" bash -c "'$RINGBACK' list --json '$work/dumps' | jq -e .pinned"
check "it reads as before" "$RINGBACK" check "$pinned"
for ((i = 0; i < 3; i++)); do last=$(dump_now); done
equal "the pinned dump and the newest are kept" "$(printf '%s\n' "$pinned" "$last" | sort)" "$(ls "$work"/dumps/*.rbd | sort)"
cp -p "$pinned" "$work/copy.rbd"
equal "a copy that keeps the mode is pinned" true "$("$RINGBACK" list --json "$work" | jq .pinned)"
check "symbols --add" "$RINGBACK" symbols "$pinned" --add "$RINGBACK"
check "keeps the pin" test -k "$pinned"

check "several at once" "$RINGBACK" pin "$last" "$pinned"
check "with pinned dumps only, the next one is refused" bash -c "! '$RINGBACK' trigger 2>'$work/trig'"
sed 's/^/# /' "$work/trig"
check "the message says why" grep -q '2 pinned dumps in .* leave no room for another under --max-dumps 2' "$work/trig"
check "and what to type" grep -q "ringback pin --remove '$work/dumps/ringback-.*rbd'" "$work/trig" "$work/err"
check "--remove" "$RINGBACK" pin --remove "$pinned"
next=$(dump_now)
equal "lets it go" "$(printf '%s\n' "$last" "$next" | sort)" "$(ls "$work"/dumps/*.rbd | sort)"
rec_stop

echo no dump >"$work/text"
for bad in "$work/text" "$work" "$work/missing"; do
	"$RINGBACK" pin "$bad" "$next" 2>"$work/e"
	equal "what is no dump is refused with its name: ${bad##*/}" "1 1" "$? $(grep -c "'$bad'" "$work/e")"
	check "and not changed" test ! -k "$bad"
done
check "the others are pinned nevertheless" test -k "$next"
"$RINGBACK" pin 2>"$work/e"
equal "without a dump it says so" "2 1" "$? $(grep -c 'DUMP is missing' "$work/e")"
tap_end

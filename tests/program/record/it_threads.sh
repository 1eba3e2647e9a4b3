#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A whole recording under ThreadSanitizer: rules, hits while a dump is written, requests, a reload,
# the end. A report fails the test (tests/one.sh).
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "a recording under ThreadSanitizer" "rings of the whole system"

: "${RINGBACK_TSAN:=build/tsan/ringback}"
check "the program with ThreadSanitizer is there" test -x "$RINGBACK_TSAN"
printf '#!/bin/sh\nexec setarch -R %s "$@"\n' "$(realpath "$RINGBACK_TSAN")" >"$work/ringback"
chmod +x "$work/ringback"
RINGBACK=$work/ringback

in_background "$loads/load_switch" 300 >/dev/null
rec_start -a --preset default -T signal:USR1 -T 'event:sched:sched_process_exec[filename ~ "*/rb-date"];max=2/1h'
cp /bin/date "$work/rb-date"
for _ in 1 2 3; do
	kill -USR1 "$rec_pid"
	dump_now --reason threads >/dev/null
	"$work/rb-date" >/dev/null
	"$RINGBACK" status >/dev/null
done
kill -HUP "$rec_pid"
check "it answers after a reload" dump_now --reason reloaded
dumps=$(sort -u "$work/out" | grep -c rbd)
check "there are several dumps" test "$dumps" -ge 3
rec_stop
equal "it ends with 0" 0 "$rec_status"
path=$(tail -n 1 "$work/out")
check "the last dump is intact" "$RINGBACK" check "$path"
check "and has a report" eval '"$RINGBACK" report "$path" >"$work/report" && test -s "$work/report"'
tap_end

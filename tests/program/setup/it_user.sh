#!/bin/bash
# SPDX-License-Identifier: MIT
# SETTING: kernel.perf_event_paranoid
# SANITIZE
#
# A user without root records their own command, user side only, dumps and reads it. Messages say
# what they can't do and how to allow it.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

paranoid=/proc/sys/kernel/perf_event_paranoid
was=$(cat $paranoid)
at_end+=("echo $was >$paranoid")
echo 2 >$paranoid
cp "$RINGBACK" "$work/ringback"
mkdir "$work/user" "$work/user/run"
chown -R 65534:65534 "$work/user"
chmod 700 "$work/user/run"
chmod 755 "$work"

as_user() {
	(cd "$work/user" && RINGBACK_RUNTIME_DIR=$work/user/run as_nobody "$@")
}

# A second of CPU time, however long it waits for a CPU.
# shellcheck disable=SC2016
busy='for ((i = 0; i < 800000; i++)); do :; done'
as_user "$work/ringback" record --config /dev/null --memory 0 -o dumps --dump-on-exit -- bash -c "sleep 0.3; $busy" >"$work/out" 2>"$work/err"
status=$?
check "a user's own command is recorded" test "$status" = 0
sed 's/^/# /' "$work/err"
path=$(tail -n 1 "$work/out")
cd "$work/user" || exit 1
check "the dump is there" test -s "$path"
check "without tracefs it tells how long its threads ran and slept" eval \
	'"$loads/tool_times" "$path" 0 9999999999999999999 | awk "\$7 == \"bash\" { ran += \$2; slept += \$4 } END { exit !(ran > 0 && slept > 2e8) }"'
check "and the report has it" grep -qE '^  bash .* [0-9.]+ m?s +[0-9]+' <(as_user "$work/ringback" report "$path")
as_user "$work/ringback" script --json "$path" >"$work/script"
check "there are samples, of the command" test "$(jq -r 'select(.comm == "bash") | .tid' "$work/script" | wc -l)" -gt 20
check "no kernel address is in any of them" test \
	"$(jq -r '.chain[]?.ip' "$work/script" | grep -c '^0xffff')" = 0
check "the dump passes check" as_user "$work/ringback" check "$path"
check "info reads it" as_user "$work/ringback" info "$path"

as_user "$work/ringback" record --config /dev/null --memory 0 -a -o dumps >"$work/out" 2>"$work/err"
check "system-wide is refused" test $? = 1
check "with the setting's value and what to type" bash -c "grep -q 'perf_event_paranoid' $work/err && grep -q hint: $work/err"
as_user "$work/ringback" record --config /dev/null --memory 0 -o dumps -e sched:sched_switch -- true >"$work/out" 2>"$work/err"
check "a tracepoint is refused" test $? = 1
check "with what to type" grep -q hint: "$work/err"
sed 's/^/# /' "$work/err"
cd - >/dev/null || exit 1
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 7200
#
# Calls of the recorder fail, each in turn (tests/tools/faults.py): recording goes on, the next dump
# is whole, nothing is said twice, no descriptor leaks. A minute of them; with FAULTS_ALL=1 all.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

only_root "calls of the recorder fail" "rules and rings of the whole system"

check "the program whose calls can fail is there" test -x "$RINGBACK_BUILD/tests/ringback-faults"
check "the other one has nothing of it" bash -c "! nm '$RINGBACK' | grep -q __wrap_"
seconds=60
[ -z "${FAULTS_ALL-}" ] || seconds=0
python3 tests/tools/faults.py "$RINGBACK_BUILD" "$RINGBACK" "$work" $seconds >"$work/faults"
status=$?
[ -z "${FAULTS_ALL-}" ] || cp "$work/faults.log" "$RINGBACK_BUILD/faults.log"
sed 's/^/# /' "$work/faults"
equal "no recording was lost, no dump after a fault damaged, no message repeated" 0 "$status"
check "some faults came" grep -Eq ' [1-9][0-9]* came' "$work/faults"
tap_end

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Sourced by the shell tests: numbers test points and prints the plan at the end. A point's name
# states what the test proves; details of a failure follow as "# ..." lines.
#
#	check "a missing file is named" grep -q nonexistent err.txt
#	equal "it runs on both CPUs" 0,1 "$cpus"
#	skip  "a cgroup is recorded" "no cgroup v2 here"
#	tap_end

# A pager would wait for keys. Only it_pager.sh uses one.
export RINGBACK_PAGER=

tap_nr=0
tap_failed=0

# ok NAME
ok() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1"
}

# not_ok NAME [WHY]: WHY may have many lines
not_ok() {
	tap_nr=$((tap_nr + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_nr - $1"
	[ -z "${2-}" ] || printf '%s\n' "$2" | head -40 | sed 's/^/# /'
}

# skip NAME WHY
skip() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1 # SKIP $2"
}

# check NAME COMMAND...: ok when the command succeeds; shows its output when it fails
check() {
	tap_name=$1
	shift
	if tap_out=$("$@" 2>&1); then
		ok "$tap_name"
	else
		not_ok "$tap_name" "$tap_out"
	fi
}

# equal NAME WANT GOT: ok when both are equal; shows both when not
equal() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "$(printf 'want: %s\ngot:  %s' "$2" "$3")"
	fi
}

# empty NAME TEXT: ok when TEXT, a list of errors, is empty
empty() {
	if [ -z "$2" ]; then
		ok "$1"
	else
		not_ok "$1" "$2"
	fi
}

tap_end() {
	echo "1..$tap_nr"
	[ "$tap_failed" = 0 ]
}

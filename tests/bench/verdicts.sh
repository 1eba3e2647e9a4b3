#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Whether what `why` says is so: $DUMPS (200) dumps with the preset waits at random moments while redis, nginx and PostgreSQL are
# under load. tests/compare/facts.py computes each verdict's facts again from the dump's events. Prints how many verdicts of each kind
# there were, and those that the events do not prove.
. tests/bench/lib.sh
. tests/bench/lib_servers.sh

dumps=${DUMPS:-200}

# keep_busy SERVER: one load after the other
keep_busy() {
	while :; do "$1_load" >/dev/null; done
}

for server in redis nginx postgres; do
	port=$((port + 1))
	${server}_start || exit 1
	keep_busy $server &
done
rec_start -a --preset waits --max-dumps 10000 || exit 1
false=0
for ((i = 0; i < dumps; i++)); do
	sleep "$(awk -v r=$RANDOM 'BEGIN { print r / 32768 }')"
	path=$(dump_now)
	if ! python3 tests/compare/facts.py "$RINGBACK" "$path" >"$work/said"; then
		sed 's/^/false: /' "$work/said"
		false=$((false + 1))
	fi
	head -n 1 "$work/said" | cut -d: -f1 >>"$work/kinds"
	rm -f "$path"
done
rec_stop
sort "$work/kinds" | uniq -c | while read -r nr kind; do row "verdict: $kind" "$nr" ""; done
row "verdicts that the events do not prove" "$false" "" "of $dumps"
[ $false = 0 ]

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How often `why` is right: each incident of tests/helpers/incidents.tsv, asked for by the program, from outside and by a
# rule; alone and beside each kind of examples/noise.sh. INCIDENTS="NAME...": only these; ASK, BESIDE: only these ways
# ("alone" is one of BESIDE); HEALTHY=N: dumps of each way without an incident. The last rows count: the culprit and the kind are in the first line; "confidence high" of a
# wrong answer. OUT=DIR: keeps the verdicts there.
. tests/bench/lib.sh

out=${OUT:-$work}
mkdir -p "$out"
hits=0 all=0 wrong=0 high=0

# judge NAME CULPRIT KIND FILE: "right", "wrong" or "WRONG" (with high confidence)
judge() {
	local first

	first=$(head -n 1 "$4")
	if [ -z "$first" ]; then
		echo none
	elif grep -qiE -- "$2" <<<"$first" && grep -qiE -- "$3" <<<"$first"; then
		echo right
	elif grep -q '^confidence  *high' "$4"; then
		echo WRONG
	else
		echo wrong
	fi
}

while IFS=$'\t' read -r name culprit kind; do
	[[ $name != '#'* && -n $name ]] || continue
	[[ " ${INCIDENTS:-$name} " = *" $name "* ]] || continue
	for beside in ${BESIDE:-alone build forks crash redis}; do
		for ask in ${ASK:-program outside rule}; do
			dir=$(mktemp -d "$work/incident.XXXXXX")
			RINGBACK_ASK=$ask RINGBACK_BESIDE=${beside#alone} RINGBACK_RUN_DIR=$dir timeout 120 \
				examples/run.sh "$name" "$RINGBACK" >"$dir/out" 2>"$dir/err" </dev/null
			status=$?
			if [ $status = 77 ]; then
				row "$name $ask $beside" - "" "not possible here: $(tail -n 1 "$dir/err")"
				rm -rf "$dir"
				continue
			fi
			sed '1,/^# ringback why/d' "$dir/out" >"$out/$name.$ask.$beside"
			verdict=$(judge "$name" "$culprit" "$kind" "$out/$name.$ask.$beside")
			row "$name $ask $beside" "$verdict" "" "$(head -n 1 "$out/$name.$ask.$beside")"
			[ -s "$out/$name.$ask.$beside" ] || tail -n 3 "$dir/err" | sed 's/^/    /'
			all=$((all + 1))
			[ "$verdict" != right ] || hits=$((hits + 1))
			[ "$verdict" != WRONG ] || wrong=$((wrong + 1))
			! grep -q '^confidence  *high' "$out/$name.$ask.$beside" || high=$((high + 1))
			[ -z "${KEEP-}" ] || cp "$dir"/*.rbd "$out/$name.$ask.$beside.rbd" 2>/dev/null
			rm -rf "$dir"
		done
	done
done <tests/helpers/incidents.tsv
# Nothing is wrong. A crash is told, too, where there was one: beside noise, those without crashes.
quiet=0 asked=0
for beside in ${BESIDE:-alone build forks redis}; do
	for ((i = 0; i < ${HEALTHY:-5}; i++)); do
		[ "$beside" != crash ] || continue
		dir=$(mktemp -d "$work/incident.XXXXXX")
		RINGBACK_BESIDE=${beside#alone} RINGBACK_RUN_DIR=$dir timeout 120 \
			examples/run.sh quiet "$RINGBACK" >"$dir/out" 2>"$dir/err" </dev/null
		first=$(sed '1,/^# ringback why/d' "$dir/out" | head -n 1)
		asked=$((asked + 1))
		if grep -qE '^(nothing unusual|overload)' <<<"$first"; then
			quiet=$((quiet + 1))
		else
			row "nothing is wrong, beside $beside" wrong "" "$first"
		fi
		rm -rf "$dir"
	done
done
row "culprit and kind in the first line" "$hits" "of $all"
row "nothing unusual, or overload, where nothing is wrong" "$quiet" "of $asked"
row "confidence high and wrong" "$wrong" "of $high"

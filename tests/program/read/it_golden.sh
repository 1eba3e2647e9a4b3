#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# Packed records stay readable: the payloads in tests/golden unpack to the records beside them, byte
# for byte, with the reader in C and with tests/compare/unpack.py, which was written from
# dump/format/PACKED.md alone. Together they cover the whole format. The records packed again unpack
# to the same; the packed bytes may change with the packer.
. tests/helpers/tap.sh

tool=${RINGBACK_BUILD:-build}/tests/tool_golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# damaged PAYLOAD: the script must report errors of a cut payload, not crash
damaged() {
	local size rc i

	size=$(stat -c %s "$1")
	for ((i = 1; i < 20; i++)); do
		head -c $((size * i / 20)) "$1" >"$work/cut"
		python3 tests/compare/unpack.py "$work/cut" "$work/out" 2>"$work/err"
		rc=$?
		[ $rc = 3 ] || echo "$1 cut at $((size * i / 20)): exit $rc, $(tail -n 1 "$work/err")"
	done
}

for packed in tests/golden/*.packed; do
	name=$(basename "$packed" .packed)
	records=tests/golden/$name.records
	check "$name: a script unpacks it by PACKED.md" \
		sh -c 'python3 tests/compare/unpack.py -v "$1" "$2/out" 2>>"$2/met" || { tail -n 1 "$2/met"; exit 1; }' - "$packed" "$work"
	check "$name: to the records that went in" cmp "$work/out" "$records"
	check "$name: so does unpack.h; packed again it comes back" "$tool" check "$packed" "$records"
done
empty "the script refuses what is cut" "$(damaged tests/golden/by-hand.packed)"

# The features that the vectors must cover together.
{
	printf 'role %s\n' CONST KEEP VARY DIRECT TIME TIME_HI TID PREV SIZE NR IP IP_HI
	printf 'column %s\n' CONST FIXED HUFFMAN 'CONST, empty'
	for role in KEEP VARY DIRECT; do
		printf 'coding %s of '$role'\n' PLAIN DELTA TABLE
	done
	printf 'coding %s of TIDS\n' PLAIN TABLE
	printf '%s\n' 'flag CHANGES' bulk tail 'class 0' 'chain, shared' 'chain, not shared'
} | LC_ALL=C sort >"$work/all"
LC_ALL=C sort -u "$work/met" >"$work/seen"
check "together they have each role, column and coding" diff "$work/all" "$work/seen"
check "each is small" test -z "$(find tests/golden -size +32k)"
tap_end

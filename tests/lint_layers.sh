#!/bin/bash
# SPDX-License-Identifier: MIT
# Includes go the way of the data and are written from the root.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh

# includes DIR: "FILE INCLUDED" of the sources right in DIR
includes() {
	grep -Ho '^#include "[^"]*"' "$1"/*.[ch] 2>/dev/null | sed 's/:#include "\(.*\)"/ \1/'
}

# strangers DIR ALLOWED..: includes in DIR of what is in none of the allowed folders
strangers() {
	local dir=$1 file to where allowed

	shift
	while read -r file to; do
		where=${to%/*}
		for allowed; do
			[ "$where" != "$allowed" ] || continue 2
		done
		echo "$file includes $to"
	done < <(includes "$dir")
}

missing() {
	local file to

	for dir in dump/base dump dump/view trigger/kernel trigger/bpf trigger recorder tests; do
		while read -r file to; do
			[ -f "$to" ] || echo "$file includes $to, which is not there (paths start at the root)"
		done < <(includes $dir)
	done
}

empty "dump/base includes nothing but itself" "$(strangers dump/base dump/base)"
empty "dump includes dump/base only" "$(strangers dump dump dump/base)"
empty "dump/view includes dump only" "$(strangers dump/view dump/view dump dump/base)"
empty "trigger/kernel includes dump/base only" "$(strangers trigger/kernel trigger/kernel dump/base)"
empty "trigger includes trigger/kernel and dump/base only" \
	"$(strangers trigger trigger trigger/bpf trigger/kernel dump/base)"
empty "trigger/bpf includes dump/base only" "$(strangers trigger/bpf trigger/bpf dump/base)"
empty "recorder includes what is below it" \
	"$(strangers recorder recorder trigger trigger/bpf trigger/kernel dump/view dump dump/base)"
empty "all includes are root-relative" "$(missing)"
tap_end

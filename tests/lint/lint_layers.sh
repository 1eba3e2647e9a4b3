#!/bin/bash
# SPDX-License-Identifier: MIT
# Folders include only what stands before them in one order, and includes are written from the root.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

# Lowest first. A folder also stays out of other roots where its root's line says so: dump/ needs no
# recorder, trigger/ no reader of dumps.
order="dump/base
dump/format dump/packed dump/file
dump/view/base dump/view/cfi dump/view/print dump/view/model dump/view/symbols dump/view/pt dump/view/unwind
dump/view/schedule dump/view/analysis dump/view/info dump/view/script dump/view/export dump/view/why dump/view/html dump/view/report
trigger/kernel trigger/client trigger/engine trigger/events trigger/bpf trigger/crash trigger/sources
recorder/base recorder/keep recorder/config recorder/ledger recorder/trace recorder/capture recorder/symbolize recorder/writer
recorder/coredump recorder/daemon recorder/cli"

# includes: "FILE INCLUDED" of all sources
includes() {
	grep -rHo --include='*.[ch]' '^#include "[^"]*"' dump trigger recorder tests | sed 's/:#include "\(.*\)"/ \1/'
}

upward() {
	includes | awk -v order="$order" '
		BEGIN { n = split(order, folder, /[ \n]+/); for (i = 1; i <= n; i++) level[folder[i]] = i }
		function of(path) { sub(/\/[^\/]*$/, "", path); return path }
		{
			from = of($1)
			to = of($2)
			if (from ~ /^tests/ || to ~ /^tests/) {
				if (from !~ /^tests/) print $1 " includes " $2
				next
			}
			# Generated headers have no folder.
			if (to !~ /\//) next
			if (!(from in level)) print $1 " is in no folder of the order"
			else if (!(to in level)) print $1 " includes " $2 ", which is in no folder of the order"
			else if (level[to] > level[from]) print $1 " includes " $2 ", which stands above it"
			else if (from ~ /^trigger/ && to ~ /^dump/ && to != "dump/base") print $1 " includes " $2
		}'
}

missing() {
	local file to

	while read -r file to; do
		[ -f "$to" ] || [[ $to != */* ]] || echo "$file includes $to, which is not there (paths start at the root)"
	done < <(includes)
}

# Every folder says what it is for.
unexplained() {
	local folder

	for folder in dump dump/view trigger recorder tests $order; do
		[ -e "$folder/README.md" ] || echo "$folder has no README.md"
	done
}

empty "includes go down in the order of folders" "$(upward)"
empty "all includes are root-relative" "$(missing)"
empty "every folder has a README" "$(unexplained)"
tap_end

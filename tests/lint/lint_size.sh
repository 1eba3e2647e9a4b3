#!/bin/bash
# SPDX-License-Identifier: MIT
# A folder holds at most 40 files, and the median source has at most 300 lines.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

crowded() {
	find recorder trigger dump examples -type f -printf '%h\n' | sort | uniq -c | awk '$1 > 40 { print $2 ": " $1 " files" }'
}

median_lines() {
	find recorder trigger dump -name '*.[ch]' -exec wc -l {} \; | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

empty "no folder has more than 40 files" "$(crowded)"
check "the median source has at most 300 lines" test "$(median_lines)" -le 300
tap_end

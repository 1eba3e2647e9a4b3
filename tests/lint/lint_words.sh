#!/bin/bash
# SPDX-License-Identifier: MIT
# Every source names its license at the top and opens with a comment on what it is; nothing is left to do.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

sources=$(find recorder trigger dump tests examples -type f \
	\( -name '*.[ch]' -o -name '*.sh' -o -name '*.bash' -o -name '*.js' -o -name '*.css' -o -name '*.html' \))
# In pieces, so that this file does not find itself.
left="TO""DO\|FIX""ME"

# first_lines NR UNLESS WANTED: the sources of whose first NR lines, those that match UNLESS aside, none matches WANTED
first_lines() {
	awk -v nr="$1" -v unless="$2" -v wanted="$3" '
		FNR <= nr && !has[FILENAME] { has[FILENAME] = $0 ~ wanted && (unless == "" || $0 !~ unless) ? 1 : 0 }
		FNR > nr { nextfile }
		END { for (i = 1; i < ARGC; i++) if (!has[ARGV[i]]) print ARGV[i] }' $sources
}

# Line 1; or 2, after #! or the layers that a test links with.
empty "every source begins with its license" "$(first_lines 2 '' 'SPDX-License-Identifier: MIT')"
empty "every source opens with what it is" "$(first_lines 4 'SPDX|LAYERS|^#!' '/[*]|^# |^#$|^//|^<!-- ')"
empty "nothing is left to do" "$(grep -rnw "$left" Makefile README.md recorder trigger dump examples tests)"
tap_end

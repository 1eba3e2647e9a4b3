#!/bin/bash
# SPDX-License-Identifier: MIT
# Every source names its license at the top and opens with a comment on what it is; nothing is left to do.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

sources=$(find recorder trigger dump tests examples -type f \
	\( -name '*.[ch]' -o -name '*.sh' -o -name '*.bash' -o -name '*.js' -o -name '*.css' -o -name '*.html' \))
# In pieces, so that this file does not find itself.
left="TO""DO\|FIX""ME"

# Line 1; or 2, after #! or the layers that a test links with.
unlicensed() {
	for file in $sources; do
		head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || echo "$file"
	done
}

unopened() {
	for file in $sources; do
		head -n 4 "$file" | grep -v 'SPDX\|LAYERS\|^#!' | grep -q '/\*\|^# \|^#$\|^//\|^<!-- ' || echo "$file"
	done
}

empty "every source begins with its license" "$(unlicensed)"
empty "every source opens with what it is" "$(unopened)"
empty "nothing is left to do" "$(grep -rnw "$left" Makefile README.md recorder trigger dump examples tests)"
tap_end

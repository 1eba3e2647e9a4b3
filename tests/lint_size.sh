#!/bin/bash
# SPDX-License-Identifier: MIT
# A file has at most 700 lines, and so everything that people write here is split by noun.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh

too_long() {
	find Makefile README.md recorder trigger dump tests examples -type f \
		\( -name '*.[ch1]' -o -name '*.sh' -o -name '*.bash' -o -name '*.js' -o -name '*.css' -o -name '*.html' -o -name '*.md' -o -name Makefile \) \
		-exec wc -l {} \; | awk '$1 > 700 { print $2 ": " $1 " lines" }'
}

empty "no file is longer than 700 lines" "$(too_long)"
tap_end

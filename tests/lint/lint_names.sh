#!/bin/bash
# SPDX-License-Identifier: MIT
# A struct tag has one meaning: it is defined once outside tests and examples. But struct source is what a kind of trigger makes
# of it (trigger/engine/source.h), as is usual for a type that its users only point to.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

twice() {
	grep -rHE --include='*.[ch]' '^(static |const )*(struct|union|enum) [a-z_0-9]+ \{' recorder trigger dump |
		grep -v 'struct source {' |
		sed -E 's/^([^:]*):.*(struct|union|enum) ([a-z_0-9]+) \{.*/\3 \1/' | sort |
		awk '{ files[$1] = files[$1] " " $2; nr[$1]++ } END { for (tag in nr) if (nr[tag] > 1) print tag ":" files[tag] }' | sort
}

empty "each struct tag is defined once" "$(twice)"
tap_end

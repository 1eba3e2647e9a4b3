#!/bin/bash
# SPDX-License-Identifier: MIT
# C sources are as .clang-format has them; `make format` makes them so.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

unformatted() {
	find recorder trigger dump tests examples -name '*.[ch]' -print0 |
		xargs -0 clang-format --dry-run -Werror 2>&1 |
		sed -n 's/^\([^:]*:[0-9]*\):.*error.*/\1/p'
}

empty "sources are formatted (make format)" "$(unformatted)"
tap_end

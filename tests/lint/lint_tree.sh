#!/bin/bash
# SPDX-License-Identifier: MIT
# The visible top level is exactly this, and each part says what it is.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

want="LICENSE
Makefile
README.md
dump
examples
recorder
tests
trigger"
# The build directory comes and goes.
have=$(find . -mindepth 1 -maxdepth 1 -not -name '.*' -not -name build -printf '%f\n' | LC_ALL=C sort)

check "the top level is exactly the eight" diff <(echo "$want") <(echo "$have")
check "the license is MIT" grep -q '^MIT License' LICENSE
check "CI runs make check and nothing else" grep -q 'RINGBACK_NO_SKIP=1 exec make check' .ci/run
empty "nothing built or recorded lies in the sources" "$(find recorder trigger dump tests examples \
	-name '*.o' -o -name '*.a' -o -name '*.part' -o -name '*.rbd' -not -path 'tests/golden/*')"
empty "shell tests and scripts are scripts" "$(find tests examples -name '*.sh' -exec sh -c '
	for f; do head -n 1 "$f" | grep -q "^#!/bin/\(ba\)\?sh$" || echo "$f"; done' - {} +)"
tap_end

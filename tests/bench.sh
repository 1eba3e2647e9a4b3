#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bench.sh BUILD-DIR [NAME]: runs tests/bench/NAME.sh or all of them, one after the other, on a machine that
# should have nothing else to do. Each prints its rows through tests/bench/lib.sh.
set -u
cd "$(dirname "$0")/.." || exit 1

build=$(realpath -m "$1")
failed=0

export RINGBACK=$build/ringback RINGBACK_BUILD=$build LC_ALL=C

echo "$(uname -sr), $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
for script in tests/bench/${2:-*}.sh; do
	[[ $script != tests/bench/lib*.sh ]] || continue
	if [ ! -e "$script" ]; then
		echo "ringback: there is no $script" >&2
		exit 2
	fi
	echo
	echo "== $(basename "$script" .sh)"
	bash "$script" || {
		echo "failed: $script"
		failed=1
	}
done
exit $failed

#!/bin/bash
# SPDX-License-Identifier: MIT
# Every script through the shell linter, warnings and errors. Not told: that sourced files are not followed (SC1091), that a variable
# comes from a sourced file (SC2154) or is for the one that sources (SC2034), and that functions called by
# name look unreachable (SC2317).
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

scripts=$(find .ci tests examples recorder \( -name '*.sh' -o -name '*.bash' -o -path .ci/run \) -type f)

# shellcheck disable=SC2086 # a list of files without blanks
check "shellcheck finds nothing" shellcheck -S warning -f gcc -e SC1091,SC2154,SC2034,SC2317 $scripts
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# Each external library is used in one file, and so is perf_event_open.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

# users PATTERN: the sources that match
users() {
	grep -lE "$1" -r recorder trigger dump --include=*.[ch] 2>/dev/null
}

# one NAME PATTERN: at most one source matches
one() {
	local found

	found=$(users "$2")
	if [ "$(printf '%s\n' "$found" | wc -l)" -le 1 ]; then
		ok "$1 is used in one file: ${found:-none}"
	else
		not_ok "$1 is used in one file" "$found"
	fi
}

one "lz4" '^#include <lz4'
one "xxHash" '^#include <xxhash'
one "libelf" '^#include <(libelf|gelf)'
one "libdw" '^#include <elfutils/'
one "liblzma" '^#include <lzma'
one "zlib" '^#include <zlib'
one "libunwind" '^#include <libunwind'
one "libipt" '^#include <intel-pt'
one "libseccomp" '^#include <seccomp'
one "libtraceevent" '^#include <(traceevent/|event-parse|kbuffer|trace-seq)'
one "inih" '^#include <ini\.h>'
one "libiberty" '^#include <(libiberty|demangle)'
one "perf_event_open" '__NR_perf_event_open|SYS_perf_event_open'
# JSON is in what people and programs ask for, not in what runs on each event.
empty "jansson is used in recorder/ and dump/view/ only" \
	"$(users '^#include <jansson' | grep -v '^recorder/\|^dump/view/')"
empty "dump/ and trigger/ neither print nor exit" \
	"$(grep -rnE '(^|[^a-z_])(printf|puts|putchar|perror|exit|_exit|abort) *\(' --include=*.c dump trigger)"
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# kernel.sh DIR: fetches Debian's cloud kernel and its headers and unpacks them in DIR/kernel, installing nothing; builds the
# test module against them as DIR/module/rb_aux.ko. Prints nothing unless it fails. What is there already stays.
set -eu

sources=$(cd "$(dirname "$0")" && pwd)
dir=$1
log=$dir/kernel.log
mkdir -p "$dir/debs" "$dir/module"

# fetch: the packages that the two meta packages stand for; their names hold the version
fetch() {
	local image common

	image=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-\)/\1/p' | head -n 1)
	[ -n "$image" ] || return 1
	common=$(sed 's/image/headers/; s/cloud-amd64$/common/' <<<"$image")
	(cd "$dir/debs" && apt-get -q -o APT::Sandbox::User=root download "$image" "${image/image/headers}" "$common" \
		"$(sed -E 's/.*-image-([0-9]+\.[0-9]+).*/linux-kbuild-\1/' <<<"$image")")
}

# unpack: the headers name each other by the place where they would be installed
unpack() {
	local deb

	rm -rf "$dir/kernel.new"
	for deb in "$dir"/debs/*.deb; do
		dpkg -x "$deb" "$dir/kernel.new"
	done
	sed -i "s,/usr/src,$dir/kernel/usr/src," "$dir"/kernel.new/usr/src/*-cloud-amd64/Makefile
	rm -rf "$dir/debs" "$dir/kernel"
	mv "$dir/kernel.new" "$dir/kernel"
}

{
	[ -d "$dir/kernel" ] || {
		fetch || { apt-get -q update && fetch; }
		unpack
	}
	for file in "$sources"/module/*; do
		cmp -s "$file" "$dir/module/${file##*/}" || cp "$file" "$dir/module/"
	done
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$dir"/kernel/usr/src/*-cloud-amd64 M="$dir/module" modules
} >"$log" 2>&1 || {
	tail -n 40 "$log" >&2
	exit 1
}

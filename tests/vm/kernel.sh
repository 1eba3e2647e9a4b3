#!/bin/bash
# SPDX-License-Identifier: MIT
#
# kernel.sh [-k new] DIR: fetches Debian's cloud kernel and its headers, unpacks them in DIR/kernel
# without installing them, and builds the test module against them as DIR/module/rb_aux.ko. Prints
# nothing unless it fails. Keeps what DIR already has. The kernel is that of this machine's release;
# with -k new it is the newest one of the next release's backports, from the same server. The
# programs that build modules for that one need a newer libc, which is unpacked beside them.
set -eu

new=
if [ "$1" = -k ]; then
	[ "$2" = new ] || exit 2
	new=1
	shift 2
fi
sources=$(cd "$(dirname "$0")" && pwd)
dir=$1
log=$dir/kernel.log
suite=trixie
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p "$dir/debs" "$dir/module"

download() {
	(cd "$dir/debs" && apt-get "${apt[@]}" -q -o APT::Sandbox::User=root download "$@")
}
apt=()

# fetch: the packages that the two meta packages depend on; their names contain the version
fetch() {
	local image common

	image=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-\)/\1/p' | head -n 1)
	[ -n "$image" ] || return 1
	common=$(sed 's/image/headers/; s/cloud-amd64$/common/' <<<"$image")
	download "$image" "${image/image/headers}" "$common" "$(sed -E 's/.*-image-([0-9]+\.[0-9]+).*/linux-kbuild-\1/' <<<"$image")"
}

# lists_of_new: separate package lists, verified with this machine's keyring
lists_of_new() {
	local site

	# shellcheck disable=SC2016 # apt's words
	site=$(apt-get indextargets --format '$(LABEL)|$(SITE)' 'Created-By: Packages' | sed -n 's/^Debian|//p' | head -n 1)
	[ -n "$site" ] || return 1
	mkdir -p "$dir"/apt/{lists,cache}/partial "$dir/apt/cache/archives/partial"
	printf "deb [signed-by=$keyring] $site %s main\n" $suite $suite-backports >"$dir/apt/sources.list"
	apt=(-o "Dir::Etc::sourcelist=$dir/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$dir/apt/lists"
		-o "Dir::Cache=$dir/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root)
	apt-get "${apt[@]}" -q update
}

# fetch_new: the newest kernel that has headers too; fails when it is older than 6.13
fetch_new() {
	local names version name packages

	lists_of_new || return
	names=$(apt-cache "${apt[@]}" pkgnames linux-)
	version=$(sed -n 's/^linux-headers-\([0-9].*\)-cloud-amd64$/\1/p' <<<"$names" | while read -r name; do
		! grep -qx "linux-image-$name-cloud-amd64" <<<"$names" || echo "$name"
	done | sort -V | tail -n 1)
	[ "$(printf '%s\n' 6.13 "$version" | sort -V | head -n 1)" = 6.13 ] || return 1
	packages=(libc6)
	# Takes the packages that exist: the image itself may be in a separate package.
	for name in image-"$version"-cloud-amd64 binary-"$version"-cloud-amd64 headers-"$version"-cloud-amd64 \
		headers-"$version"-common kbuild-"$version"; do
		! grep -qx "linux-$name" <<<"$names" || packages+=("linux-$name")
	done
	download "${packages[@]}" && rm -rf "$dir/apt"
}

# with_libc ROOT: wraps ROOT's programs that build modules, so that they start with the newer libc,
# by the paths they will have in DIR/kernel
with_libc() {
	local libc=$dir/kernel/usr/lib/x86_64-linux-gnu program real

	find "$1"/usr/lib/linux-kbuild-* -type f -perm -1 | while read -r program; do
		[ "$(head -c 4 "$program" | tr -d '\177')" = ELF ] || continue
		mv "$program" "$program.elf"
		real=$program.elf
		# These two only start one of several programs beside them.
		case $program in
		*/modpost) real=$program.real-lsb-64.elf ;;
		*/objtool) real=$program.real-x86.elf ;;
		esac
		# shellcheck disable=SC2016
		printf '#!/bin/sh\nexec %s --library-path %s --argv0 "$0" %s "$@"\n' "$libc/ld-linux-x86-64.so.2" "$libc" \
			"$dir/kernel${real#"$1"}" >"$program"
		chmod 755 "$program"
	done
}

# compiler: a wrapper of this machine's gcc that drops the options gcc does not know
compiler() {
	cat <<-'end'
		#!/bin/bash
		while ! said=$(LC_ALL=C gcc "$@" 2>&1 >&3); do
			lacks=$(sed -n "s/.*unrecognized command-line option '\([^']*\)'.*/\1/p" <<<"$said" | head -n 1)
			[ -n "$lacks" ] || { printf '%s\n' "$said" >&2; exit 1; }
			kept=()
			for option; do [ "$option" = "$lacks" ] || kept+=("$option"); done
			set -- "${kept[@]}"
		done 3>&1
		[ -z "$said" ] || printf '%s\n' "$said" >&2
	end
}

# unpack: unpacks the packages and adjusts the headers' paths, which expect an installation in
# /usr/src
unpack() {
	local deb

	rm -rf "$dir/kernel.new"
	for deb in "$dir"/debs/*.deb; do
		dpkg -x "$deb" "$dir/kernel.new"
	done
	sed -i "s,/usr/src,$dir/kernel/usr/src," "$dir"/kernel.new/usr/src/*-cloud-amd64/Makefile
	if [ -n "$new" ]; then
		with_libc "$dir/kernel.new"
		compiler >"$dir/kernel.new/cc"
		chmod 755 "$dir/kernel.new/cc"
	fi
	rm -rf "$dir/debs" "$dir/kernel"
	mv "$dir/kernel.new" "$dir/kernel"
}

get_kernel() {
	if [ -n "$new" ]; then
		fetch_new
	else
		fetch || { apt-get -q update && fetch; }
	fi && unpack
}

build() {
	local file options=()

	[ -d "$dir/kernel" ] || get_kernel || return
	# BTF of modules would need another tool (pahole).
	[ -z "$new" ] || options=(CC="$dir/kernel/cc" CONFIG_DEBUG_INFO_BTF_MODULES=)
	for file in "$sources"/module/*; do
		cmp -s "$file" "$dir/module/${file##*/}" || cp "$file" "$dir/module/"
	done
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$dir"/kernel/usr/src/*-cloud-amd64 M="$dir/module" "${options[@]}" modules
}

# One build at a time.
exec 9>"$dir/lock"
flock 9
build >"$log" 2>&1 || {
	tail -n 40 "$log" >&2
	exit 1
}

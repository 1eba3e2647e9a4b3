#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deps.sh [build|check|list]: installs the packages that are missing, and nothing when none is. "build": those
# that the program itself needs; "check": those of its tests too; without: those of the benchmarks too; "list":
# only prints them all. Called by make deps, demo, check and bench. README.md, "Libraries and tools", says what
# each is for; tests/lint/lint_docs.sh holds the two together.
set -eu

# To build and run.
build="gcc libc6-dev make libelf-dev libdw-dev liblzma-dev zlib1g-dev libunwind-dev liblz4-dev libxxhash-dev libinih-dev \
	libjansson-dev libseccomp-dev libiberty-dev libipt-dev libbpf-dev clang bpftool"
# To test, besides.
check="libcmocka-dev libtraceevent-dev g++ musl-tools libclang-rt-14-dev clang-format perl procps util-linux mount e2fsprogs pkgconf \
	bc jq python3 mandoc shellcheck systemd binutils xz-utils nodejs libdebuginfod1 chromium protobuf-compiler python3-jsonschema prometheus \
	linux-perf redis-server redis-tools nginx gdb golang-go rustc qemu-system-x86 busybox-static cpio \
	debhelper lintian openjdk-17-jdk-headless python3-yaml"
# To compare with, besides.
bench="lz4 zstd time wrk postgresql"

case ${1-} in
build) wanted=$build ;;
check) wanted="$build $check" ;;
'' | list) wanted="$build $check $bench" ;;
*)
	echo "usage: tests/deps.sh [build|check|list]" >&2
	exit 2
	;;
esac
if [ "${1-}" = list ]; then
	# shellcheck disable=SC2086 # a list of words
	printf '%s\n' $wanted
	exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "ringback: this is no Debian; make sure that there is what these packages hold:" >&2
	# shellcheck disable=SC2086 # a list of words
	echo "  " $wanted >&2
	exit 0
fi

missing=
for package in $wanted; do
	case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
	installed) ;;
	*) missing="$missing $package" ;;
	esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "ringback: packages are missing; as root: apt-get install$missing" >&2
	exit 1
fi

policy=/usr/sbin/policy-rc.d
own_policy=
log=$(mktemp)

end() {
	rm -f "$log"
	[ -z "$own_policy" ] || rm -f $policy
}
trap end EXIT
trap 'exit 1' HUP INT TERM

# No service of a new package is started: not on a build machine, nor where there is no init to do it.
if [ ! -e $policy ]; then
	own_policy=1
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
fi

# apt COMMAND...: silent unless it fails. Waits for another that is at work, as on a machine that just started.
apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null
}

echo "ringback: installing, which may take a minute:$missing"
# One source of several that is out of reach need not be in the way.
apt update || {
	tail -n 20 "$log"
	echo "ringback: the lists of packages could not all be renewed; goes on with what is there"
} >&2
# shellcheck disable=SC2086 # a list of words
apt --no-install-recommends install $missing || {
	tail -n 40 "$log"
	echo "ringback: could not install$missing"
	exit 1
} >&2

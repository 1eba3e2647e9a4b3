#!/bin/sh
# SPDX-License-Identifier: MIT
#
# deps.sh [build|list]: installs the packages that are missing, and nothing when none is; "build": only those
# that the program itself needs; "list": only prints them all. Called by make deps, demo, check and bench. README.md, "Libraries and
# tools", says what each is for; tests/lint_docs.sh holds the two together.
set -eu

# To build and run.
build="gcc libc6-dev make libelf-dev liblz4-dev libxxhash-dev libtraceevent-dev libinih-dev libjansson-dev"
# To test, besides.
tests="libcmocka-dev clang libclang-rt-14-dev clang-format perl procps util-linux bc lz4 zstd jq python3 \
	linux-perf stress-ng mandoc shellcheck systemd"

wanted=$build
[ "${1-}" = build ] || wanted="$build $tests"
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

# No service of a new package is started: not on a build machine, nor where there is no init to do it.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
fi

echo "ringback: installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
# shellcheck disable=SC2086 # a list of words
apt-get -q -y --no-install-recommends install $missing

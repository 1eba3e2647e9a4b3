#!/bin/bash
# SPDX-License-Identifier: MIT
# make install puts the program, man page, completion, example and unit where they belong; uninstall leaves
# nothing of them and touches nothing else.
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh

: "${RINGBACK:=build/ringback}"
build=$(dirname "$RINGBACK")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# With the flags it was built with, so that nothing is built anew.
flags=()
! grep -qe -Werror "$build/flags" || flags=(WERROR=1)

run_make() { # TARGET [VARIABLE...]
	env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory O="$build" DESTDIR="$root" \
		"${flags[@]}" "$@"
}

installed() {
	(cd "$root" && find . -type f -printf '%m %p\n' | LC_ALL=C sort -k 2)
}

mkdir -p "$root/usr/share/doc/ringback"
echo mine >"$root/usr/share/doc/ringback/notes"
check "install into DESTDIR and PREFIX" run_make install PREFIX=/usr
want="755 ./usr/bin/ringback
644 ./usr/lib/libringback-crash.so
644 ./usr/lib/systemd/system/ringback.service
644 ./usr/share/bash-completion/completions/ringback
644 ./usr/share/doc/ringback/notes
644 ./usr/share/doc/ringback/ringback.conf
644 ./usr/share/man/man1/ringback-export.1
644 ./usr/share/man/man1/ringback-record.1
644 ./usr/share/man/man1/ringback.1
644 ./usr/share/man/man7/ringback-rules.7"
chmod 644 "$root/usr/share/doc/ringback/notes"
check "exactly these files, with these modes" diff <(echo "$want") <(installed)
check "the installed program runs" "$root/usr/bin/ringback" --version
check "the man page is one that man shows" grep -q '^\.Dt RINGBACK 1' "$root/usr/share/man/man1/ringback.1"

unit=$root/usr/lib/systemd/system/ringback.service
check "the unit starts the installed program" grep -qx 'ExecStart=/usr/bin/ringback record' "$unit"
# verify wants programs where the unit says they are, so it looks at the tree as a root directory of its own.
verify() {
	local out

	mkdir -p "$root/bin" "$root/etc"
	install -m 755 /bin/kill "$root/bin/kill"
	sed "s,/usr/bin/ringback,$root/usr/bin/ringback," "$unit" >"$root/ringback-verify.service"
	out=$(systemd-analyze verify --man=no "$root/ringback-verify.service" 2>&1 | grep ringback)
	rm -rf "${root:?}/bin" "${root:?}/etc" "$root/ringback-verify.service"
	[ -z "$out" ] || {
		echo "$out"
		return 1
	}
}
if command -v systemd-analyze >/dev/null; then
	check "systemd has no complaint about the unit" verify
else
	skip "systemd has no complaint about the unit" "no systemd-analyze"
fi

# The example must be one that the recorder takes; its owner must be root then.
example=$root/usr/share/doc/ringback/ringback.conf
out=$("$RINGBACK" record --config "$example" stray 2>&1)
check "the example configuration has no mistake" grep -q "'stray' is not an option" <(echo "$out")

check "uninstall" run_make uninstall PREFIX=/usr
check "nothing but what was there before is left" diff <(echo "644 ./usr/share/doc/ringback/notes") \
	<(installed)
check "uninstall again is no error" run_make uninstall PREFIX=/usr
tap_end

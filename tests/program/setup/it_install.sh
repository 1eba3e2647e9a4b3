#!/bin/bash
# SPDX-License-Identifier: MIT
# make install puts the program, library, header, documentation, completion, unit and configuration
# in their places; uninstall removes all of them and nothing else, and keeps a changed
# configuration.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh

: "${RINGBACK:=build/ringback}"
build=$(dirname "$RINGBACK")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# The flags of the build, so that make rebuilds nothing.
flags=()
! grep -qe -Werror "$build/flags" || flags=(WERROR=1)

run_make() { # TARGET [VARIABLE...]
	env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory O="$build" DESTDIR="$root" \
		"${flags[@]}" "$@"
}

installed() {
	(cd "$root" && find . -type f -printf '%m %p\n' | LC_ALL=C sort -k 2)
}

doc=usr/share/doc/ringback
conf=$root/etc/ringback/ringback.conf
mkdir -p "$root/$doc"
echo mine >"$root/$doc/notes"
chmod 644 "$root/$doc/notes"
check "install into DESTDIR and PREFIX" run_make install PREFIX=/usr
want="600 ./etc/ringback/ringback.conf
755 ./usr/bin/ringback
644 ./usr/include/ringback.h
644 ./usr/lib/libringback-crash.so
644 ./usr/lib/pkgconfig/ringback.pc
644 ./usr/lib/systemd/system/ringback-keeper.service
644 ./usr/lib/systemd/system/ringback.service
644 ./usr/share/bash-completion/completions/ringback
$(for f in EXPORT.md FORMAT.md PACKED.md RULES.md SCHEMA.md SYMBOLS.md crash-hold.conf notes ringback.conf; do echo "644 ./$doc/$f"; done)
$(find examples -type f -printf "%m ./$doc/%p\n")
644 ./usr/share/man/man1/ringback-export.1
644 ./usr/share/man/man1/ringback-record.1
644 ./usr/share/man/man1/ringback.1
644 ./usr/share/man/man7/ringback-protocol.7
644 ./usr/share/man/man7/ringback-rules.7
644 ./usr/share/man/man7/ringback-runtimes.7"
check "exactly these files, with these modes" diff <(echo "$want" | LC_ALL=C sort -k 2) <(installed)
check "the installed program runs" "$root/usr/bin/ringback" --version
check "the man page is one that man shows" grep -q '^\.Dt RINGBACK 1' "$root/usr/share/man/man1/ringback.1"

unit=$root/usr/lib/systemd/system/ringback.service
check "the unit starts the installed program" grep -qx 'ExecStart=/usr/bin/ringback record' "$unit"
# systemd-analyze verify needs the programs at the unit's paths, so it gets the tree as its root
# directory.
verify() {
	local out

	mkdir -p "$root/bin"
	install -m 755 /bin/kill "$root/bin/kill"
	sed "s,/usr/bin/ringback,$root/usr/bin/ringback," "$1" >"$root/ringback-verify.service"
	out=$(systemd-analyze verify --man=no "$root/ringback-verify.service" 2>&1 | grep ringback)
	rm -rf "${root:?}/bin" "$root/ringback-verify.service"
	[ -z "$out" ] || {
		echo "$out"
		return 1
	}
}
if command -v systemd-analyze >/dev/null; then
	check "systemd has no complaint about the unit" verify "$unit"
	check "nor about the keeper's" verify "${unit/ringback.service/ringback-keeper.service}"
	check "its exposure is at most what it gives reasons for" systemd-analyze security --offline=yes --threshold=34 "$unit"
else
	skip "systemd has no complaint about the units" "no systemd-analyze"
fi

# Every page that users are told to read must exist: the help of each command, and the man pages.
cited() {
	local command

	{
		"$RINGBACK" --help
		for command in $("$RINGBACK" --help | sed -n 's/^  ringback \([a-z]*\) .*/\1/p'); do
			"$RINGBACK" "$command" --help
		done
		cat "$root"/usr/share/man/man?/*
	} | grep -oE '[A-Za-z0-9_./-]+\.(md|conf|h|bash|pc|sh)\b' | sed 's,.*/,,' | sort -u
}
missing() {
	local file

	for file in $(cited); do
		[ -n "$(find "$root" -name "$file")" ] || echo "$file"
	done
}
check "the help cites files" grep -qx SCHEMA.md <(cited)
empty "each is installed" "$(missing)"
check "the man page names the folder of the documentation" grep -q "/$doc/" "$root/usr/share/man/man1/ringback.1"

cat >"$root/told.c" <<'END'
#include <ringback.h>

int main(void)
{
	return ringback_trigger("nobody listens") == -1 ? 0 : 1;
}
END
compile() {
	local flags

	flags=$(PKG_CONFIG_LIBDIR=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
		pkg-config --cflags --libs ringback) || return
	# shellcheck disable=SC2086 # a list of options
	gcc -Wall -Werror -o "$root/told" "$root/told.c" $flags && RINGBACK_TELL=/nonexistent "$root/told"
}
check "a program compiles with the flags of pkg-config, and runs" compile
rm -f "$root/told" "$root/told.c"

# Needs a configuration owned by root.
out=$("$RINGBACK" record --config "$conf" stray 2>&1)
check "the configuration has no mistake" grep -q "'stray' is not an option" <(echo "$out")
if [ "$(id -u)" = 0 ]; then
	out=$("$RINGBACK" record --config "$conf" --dry-run 2>&1)
	for rule in crash oom memory-pressure program; do
		check "it makes a dump by the rule $rule" grep -qw -e "$rule" <(echo "$out")
	done
	# A rule that this kernel can't watch must not prevent a start.
	printf '[trigger gone]\nrule = psi:irq:full>300ms/1s\n[trigger kept]\nrule = crash\n' >"$root/other.conf"
	if [ -e /proc/pressure/irq ]; then
		skip "a rule of the file that this kernel can't watch is left out" "this kernel can watch irq pressure"
	else
		out=$("$RINGBACK" record --config "$root/other.conf" --dry-run 2>&1)
		equal "a rule of the file that this kernel can't watch is not used" "0 not used kept" \
			"$? $(grep -o 'not used' <<<"$out") $(grep -ow kept <<<"$out" | head -n 1)"
	fi
	rm -f "$root/other.conf"
fi

echo '# mine' >>"$conf"
check "install again" run_make install PREFIX=/usr
check "a changed configuration is not overwritten" grep -q '# mine' "$conf"
check "uninstall" run_make uninstall PREFIX=/usr
check "what was there before and the changed configuration are left" diff \
	<(printf '600 ./etc/ringback/ringback.conf\n644 ./%s/notes\n' "$doc") <(installed)
sed -i '$d' "$conf"
check "uninstall again" run_make uninstall PREFIX=/usr
check "an unchanged configuration is removed" diff <(echo "644 ./$doc/notes") <(installed)
tap_end

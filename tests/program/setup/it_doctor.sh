#!/bin/bash
# SPDX-License-Identifier: MIT
# SETTING: kernel.perf_event_paranoid
# SANITIZE
#
# `ringback doctor` for people and scripts: as root, as nobody, on a terminal, as JSON.
set -u
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/helpers/tap.sh
. tests/helpers/tap.sh

ringback=$(realpath "${RINGBACK:-build/ringback}")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# too_wide: lines of more than 100 characters, except lines with a single long word such as a path
# in core_pattern. not_plain: lines with control characters.
too_wide() { LC_ALL=C.UTF-8 awk 'length > 100 { for (i = 1; i <= NF; i++) if (length($i) > 70) next; print }' "$1"; }
not_plain() { LC_ALL=C grep -n '[[:cntrl:]]' "$1"; }
fails_with() {
	local want=$1 rc

	shift
	"$@"
	rc=$?
	[ "$rc" = "$want" ] || { echo "exit $rc, not $want"; return 1; }
}
mounts() { grep -c ' - tracefs ' /proc/self/mountinfo; }

before=$(mounts)
check "doctor exits with 0" "$ringback" doctor
"$ringback" doctor >"$dir/out" 2>"$dir/err"
empty "nothing is printed on stderr" "$(cat "$dir/err")"
empty "no line has more than 100 columns" "$(too_wide "$dir/out")"
empty "piped, there are no colours or control characters" "$(not_plain "$dir/out")"
check "the kernel's version is told" grep -q "$(uname -r)" "$dir/out"
check "the present value of a setting is told" \
	grep -q "perf_event_max_sample_rate=$(cat /proc/sys/kernel/perf_event_max_sample_rate)" "$dir/out"
check "a ring size is recommended" grep -qE 'recommended: up to -m [0-9]+[KM]' "$dir/out"
check "the last line is the verdict" \
	sh -c "tail -n 1 '$dir/out' | grep -qE '^no limits: everything|limits? found;'"
check "every line says ok, limited, no or just tells" \
	sh -c "! grep -E '^  [^ ]' '$dir/out' | grep -vE '^  (ok|limited|no) '"
[ "$before" = 0 ] && after=$(mounts) || after=$before
check "tracefs is not left mounted" test "$after" = "$before"

# A terminal: script(1) is part of every Debian.
if command -v script >/dev/null; then
	TERM=xterm script -qec "$ringback doctor" /dev/null </dev/null >"$dir/tty"
	check "on a terminal states are coloured" grep -q "$(printf '\033\\[3')" "$dir/tty"
	NO_COLOR=1 TERM=xterm script -qec "$ringback doctor" /dev/null </dev/null >"$dir/tty"
	check "NO_COLOR turns colours off" sh -c "! grep -q '$(printf '\033')' '$dir/tty'"
else
	skip "on a terminal states are coloured" "no script(1)"
	skip "NO_COLOR turns colours off" "no script(1)"
fi

"$ringback" doctor --json >"$dir/json"
check "--json gives the recommended size as a number" \
	grep -qE '"recommended_ring_bytes": [0-9]+' "$dir/json"
check "--json gives each check its state" grep -qE '"state": "(ok|limited|no)"' "$dir/json"
check "--json is one JSON object" python3 -c \
	"import json,sys; d=json.load(open('$dir/json')); sys.exit(not (d['checks'] and d['verdict']))"

check "an unknown option is a usage error" fails_with 2 "$ringback" doctor --nonsense
check "an argument is a usage error" fails_with 2 "$ringback" doctor nonsense

paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$dir"
	cp "$ringback" "$dir/ringback"
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
	check "doctor exits with 0 as nobody" "${nobody[@]}" "$dir/ringback" doctor
	"${nobody[@]}" "$dir/ringback" doctor >"$dir/out" 2>&1
	check "nobody is told that there are limits" \
		sh -c "tail -n 1 '$dir/out' | grep -q 'found; run as root'"
	if [ "$paranoid" -gt 0 ]; then
		check "nobody is told the value that is in the way" \
			grep -q "perf_event_paranoid=$paranoid" "$dir/out"
		check "nobody is told the exact command" \
			grep -q 'allow: sudo sysctl kernel.perf_event_paranoid=0$' "$dir/out"
		check "nobody is told how to keep it" grep -q 'keep: .*/etc/sysctl.d/ringback.conf' "$dir/out"
	else
		for what in "the value that is in the way" "the exact command" "how to keep it"; do
			skip "nobody is told $what" "kernel.perf_event_paranoid=$paranoid allows it"
		done
	fi
	# A command may span lines with a backslash; a shell must accept it as pasted.
	awk '/^ *(allow|keep):/ { on = 1 } on { print; on = /\\$/ }' "$dir/out" | sed 's/^ *\(allow\|keep\)://' >"$dir/commands"
	check "all commands are valid shell" sh -n "$dir/commands"
	empty "no line has more than 100 columns as nobody" "$(too_wide "$dir/out")"
else
	skip "what nobody is told" "needs root and setpriv"
fi

tap_end

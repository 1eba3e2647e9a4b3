#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh NAME [RINGBACK]: an incident from its beginning to its explanation: compiles examples/NAME/NAME.c, starts a recorder as
# NAME/README.md says, lets the program run, which asks for a dump when it notices that something is wrong, and explains the dump.
# The dump stays, in a directory that is printed. RINGBACK_RUN_DIR: use that directory.
# RINGBACK_RUN_OPTIONS: more of the recorder's. Exit 77: this machine cannot do it.
set -u
cd "$(dirname "$0")" || exit 1

name=${1:?which example? one of: $(echo */ | tr -d /)}
name=${name%/}
program=${2:-../build/ringback}
[ $# -gt 1 ] || [ -x "$program" ] || program=$(command -v ringback)
program=$(realpath "$program") || exit 1
dir=${RINGBACK_RUN_DIR:-$(mktemp -d "${TMPDIR:-/var/tmp}/ringback-$name.XXXXXX")}
recorder=

end() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null
	wait
}
trap end EXIT
trap 'exit 130' INT TERM

# The README's command without its program, directory and "&".
read -ra options < <(sed -n "s,^    # ringback record \(.*\) &\$,\1,p" "$name/README.md" | sed 's,-o [^ ]*,,')
[ ${#options[@]} -gt 0 ] || { echo "$name/README.md has no command for the recorder" >&2; exit 1; }
options=("${options[@]//\'/}")
# More of them, such as larger rings where much else is going on.
read -ra more <<<"${RINGBACK_RUN_OPTIONS-}"

if [ -f "$name/$name.c" ]; then
	gcc -std=gnu11 -O1 -g -fno-omit-frame-pointer -D_GNU_SOURCE -pthread -o "$dir/$name" "$name/$name.c" || exit 1
fi

export RINGBACK=$program RINGBACK_RUNTIME_DIR=${RINGBACK_RUNTIME_DIR:-$dir/run}
[ -d "$RINGBACK_RUNTIME_DIR" ] || mkdir -m 700 "$RINGBACK_RUNTIME_DIR" || exit 1
"$program" record --config /dev/null -o "$dir" "${options[@]}" "${more[@]}" >"$dir/paths" 2>"$dir/record.log" </dev/null &
recorder=$!
until grep -q '^ringback: recording' "$dir/record.log"; do
	kill -0 "$recorder" 2>/dev/null || { cat "$dir/record.log" >&2; exit 1; }
	sleep 0.05
done

# Incidents that write files need a real file system; that of the sources is one.
if [ -x "$dir/$name" ]; then
	"$dir/$name" "${RINGBACK_DISK_DIR:-$dir}" || exit $?
else
	sleep 2
	"$program" trigger --reason "nothing, I was only curious" || exit 1
fi
kill "$recorder"
wait "$recorder"
recorder=
dump=$(tail -n 1 "$dir/paths")
echo
echo "# ringback why $dump"
"$program" why "$dump"

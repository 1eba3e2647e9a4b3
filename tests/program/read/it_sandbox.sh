#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# Commands that read a dump confine themselves before they do, and print what they print without: nothing that
# they need is out of reach.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

RINGBACK=$(realpath "$RINGBACK")
mkdir "$work/made"
rec_start -p $$ -e dummy -m 16K
first=$(dump_now --reason one)
dump=$(dump_now --reason two)
rec_stop
[ -s "$dump" ] || exit 1
head -c 3000 "$dump" >"$work/cut.rbd"
cp "$first" "$work/dumps/renamed.rbd"

# same NAME ARG...: exit code, output and messages are those of --no-sandbox; @ is a file that the command makes
same() {
	local name=$1 how out code

	shift
	for how in --no-pager --no-sandbox; do
		out=$work/made/$how
		"$RINGBACK" $how "${@/@/$out.file}" >"$out" 2>"$out.err"
		code=$?
		sed -i "s,$out.file,FILE,g" "$out" "$out.err"
		echo "$code" >>"$out"
		# A page or a dump may hold the time when it was made.
		[ ! -e "$out.file" ] || wc -c <"$out.file" >>"$out"
		rm -f "$out.file"
	done
	check "$name" cmp "$work/made/--no-pager" "$work/made/--no-sandbox"
	check "$name: messages" cmp "$work/made/--no-pager.err" "$work/made/--no-sandbox.err"
}

for command in info why report script symbols check "check --salvage @" "info --json" "why --json" "script --json" \
	"why --history" "why --baseline $first" "report --html @" "export -f ndjson" "export -f perf -o @" \
	"export -f pftrace -o @" "export -f folded" "export -f pprof -o @" "symbols --add /bin/true -o @"; do
	# shellcheck disable=SC2086 # a list of words
	same "$command" $command "$dump"
	# shellcheck disable=SC2086
	same "$command of what was cut off" $command "$work/cut.rbd"
done
same "diff" diff "$first" "$dump"
same "two dumps as one" why "$first" "$dump"
same "list" list "$work/dumps"
cd "$work/dumps" || exit 1
same "the newest dump" info
same "a relative name" why --history "${dump##*/}"
cd "$OLDPWD" || exit 1
ln -s "$dump" "$work/link.rbd"
same "through a symbolic link" info "$work/link.rbd"
same "from standard input" info /dev/stdin <"$dump"

# What the kernel says of a command that waits for its reader.
mkfifo "$work/fifo"
has_mode() {
	grep -q "^Seccomp:[[:space:]]*$1\$" "/proc/$bg_pid/status"
}
exec 9<>"$work/fifo"
for ((i = 0; i < 65536 / 64; i++)); do printf '%064d' 0; done >&9 # a full pipe
for how in --no-pager --no-sandbox; do
	in_background "$RINGBACK" $how info "$dump" >"$work/fifo"
	case $how in --no-pager) want=2 ;; *) want=0 ;; esac
	check "info $how: mode of seccomp" wait_for 20 has_mode $want
	kill "$bg_pid"
done
exec 9>&-

equal "nothing is left in the directories" "" "$(find "$work/made" "$work/dumps" -name '*.file*' -o -name '.*.file*')"
tap_end

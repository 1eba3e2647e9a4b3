#!/bin/sh
# SPDX-License-Identifier: MIT
# `ringback check`: exit codes, findings and salvage as a user meets them.
ringback=${RINGBACK:-build/ringback}
seed=$(dirname "$ringback")/tests/tool_seed
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0

# result NAME STATUS: one TAP line; on failure what the command said
result()
{
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' "$dir/out" "$dir/err"
	fi
}

# run WANTED-EXIT-CODE ARGS...
run()
{
	want=$1
	shift
	"$ringback" "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq "$want" ]
}

echo 1..8
"$seed" dump "$dir/whole.rbd" || exit 1
size=$(stat -c %s "$dir/whole.rbd")
head -c $((size / 2)) "$dir/whole.rbd" >"$dir/cut.rbd"

run 0 check "$dir/whole.rbd" && grep -q 'whole: 14 blocks, 56 records' "$dir/out"
result "a whole dump: exit 0 and a summary" $?

run 3 check "$dir/cut.rbd" && grep -q 'damaged: ' "$dir/out" && grep -q -- '--salvage' "$dir/err"
result "a cut dump: exit 3, findings, and the command that rescues" $?

run 3 check "$dir/cut.rbd" --salvage "$dir/rescued.rbd" && run 0 check "$dir/rescued.rbd"
result "what was salvaged is whole" $?

run 1 check "$dir/cut.rbd" --salvage "$dir/rescued.rbd" && grep -q 'exist' "$dir/err"
result "salvage leaves a file that exists alone: exit 1" $?

run 1 check "$dir/none.rbd" && grep -q 'No such file' "$dir/err"
result "no such file: exit 1" $?

run 3 check /etc/passwd && grep -q 'is not a ringback dump' "$dir/err"
result "another kind of file: exit 3, and it says that it is no dump" $?

run 2 check && run 2 check a b && run 2 check --nonsense a && run 2 check a --salvage
result "wrong usage: exit 2" $?

mkfifo "$dir/fifo"
run 1 check "$dir/fifo" && grep -q 'not a regular file' "$dir/err"
result "a FIFO is refused and not waited for" $?

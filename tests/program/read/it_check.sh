#!/bin/bash
# SPDX-License-Identifier: MIT
# SANITIZE
#
# `ringback check`: exit codes, findings and salvage.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# run WANTED-EXIT-CODE ARG...: output in $work/out and $work/err
run() {
	local want=$1 code

	shift
	timeout 60 "$RINGBACK" "$@" >"$work/out" 2>"$work/err"
	code=$?
	[ "$code" = "$want" ] && return
	echo "ringback $*: exit code $code, not $want"
	cat "$work/out" "$work/err"
	return 1
}

# says FILE PATTERN: the last run printed PATTERN
says() {
	grep -q -- "$2" "$work/$1" && return
	echo "no '$2' in:"
	cat "$work/$1"
	return 1
}

"$loads/tool_seed" dump "$work/whole.rbd" || exit 1
size=$(stat -c %s "$work/whole.rbd")
head -c $((size / 2)) "$work/whole.rbd" >"$work/cut.rbd"

check "a whole dump: exit 0" run 0 check "$work/whole.rbd"
run 0 check "$work/whole.rbd"
check "and a summary" says out 'intact: 14 blocks, 56 records'

check "a cut dump: exit 3" run 3 check "$work/cut.rbd"
run 3 check "$work/cut.rbd"
check "and findings" says out 'damaged: '
check "and the command that rescues" says err --salvage

check "--salvage: exit 3, for the dump is damaged still" run 3 check "$work/cut.rbd" --salvage "$work/rescued.rbd"
check "what was salvaged is whole" run 0 check "$work/rescued.rbd"
cp "$work/rescued.rbd" "$work/before.rbd"
check "salvage to a file that exists: exit 1" run 1 check "$work/cut.rbd" --salvage "$work/rescued.rbd"
run 1 check "$work/cut.rbd" --salvage "$work/rescued.rbd"
check "and it says that it exists" says err exist
check "and leaves it as it was" cmp "$work/before.rbd" "$work/rescued.rbd"

check "no such file: exit 1" run 1 check "$work/none.rbd"
run 1 check "$work/none.rbd"
check "and that it is not there" says err 'No such file'

check "another kind of file: exit 3" run 3 check /etc/passwd
run 3 check /etc/passwd
check "and that it is no dump" says err 'is not a ringback dump'

for usage in "" "a b" "--nonsense a" "a --salvage"; do
	# shellcheck disable=SC2086 # several words
	check "wrong usage: check $usage: exit 2" run 2 check $usage
done

mkfifo "$work/fifo"
check "a FIFO is refused and not waited for" run 1 check "$work/fifo"
run 1 check "$work/fifo"
check "with the reason" says err 'not a regular file'
tap_end

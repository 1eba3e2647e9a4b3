#!/bin/bash
# SPDX-License-Identifier: MIT
# On a terminal the output of commands goes through a pager, with the terminal's colours and width;
# elsewhere it does not. The exit code is the command's own.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

RINGBACK=$(realpath "$RINGBACK")
export RINGBACK TERM=xterm
unset PAGER RINGBACK_PAGER LESS NO_COLOR COLUMNS
rec_start -p $$ -e dummy -m 16K
dump=$(dump_now)
rec_stop
head -c 3000 "$dump" >"$work/cut.rbd"
printf '#!/bin/sh\necho "<pager $LESS>"\ncat\necho "<end>"\nexit 5\n' >"$work/mine"
printf '#!/bin/sh\nhead -c 1 >/dev/null\n' >"$work/quits"
mkdir "$work/bin"
ln -s "$work/mine" "$work/bin/less"
chmod +x "$work/mine" "$work/quits"

# on_terminal COMMAND: output on a terminal of 132 columns; the exit code in $code
on_terminal() {
	timeout 100 script -qefc "stty cols 132; $1" /dev/null </dev/null >"$work/screen"
	code=$?
}
paged() { # NAME WANT COMMAND: how often the pager stands on the screen, and the exit code
	on_terminal "$3"
	equal "$1" "$2" "$(grep -c '^<pager' "$work/screen") $code"
}

export PATH=$work/bin:$PATH
for command in why report script info "list $work/dumps" "diff $dump"; do
	file=$dump
	case $command in list*) file= ;; esac
	paged "${command%% *} on a terminal: through less" "1 0" "$RINGBACK $command $file"
	check "${command%% *}: all of it" grep -q '<end>' "$work/screen"
done
check "less gets LESS=FRX" grep -q '<pager FRX>' "$work/screen"
LESS=i paged "unless LESS is set" "1 0" "$RINGBACK info $dump"
check "which then stays" grep -q '<pager i>' "$work/screen"
paged "status has no pager" "0 1" "$RINGBACK status"
paged "--no-pager" "0 0" "$RINGBACK --no-pager info $dump"
PAGER="cat" paged "PAGER=cat" "0 0" "$RINGBACK info $dump"
RINGBACK_PAGER='' PAGER=$work/mine paged "an empty RINGBACK_PAGER goes before PAGER" "0 0" "$RINGBACK info $dump"
RINGBACK_PAGER="$work/mine -x" PAGER="cat" paged "so does another" "1 0" "$RINGBACK info $dump"
RINGBACK_PAGER=$work/none paged "one that is not there is told of, and left out" "0 0" "$RINGBACK info $dump"
check "by name" grep -q "there is no pager '$work/none'" "$work/screen"
TERM=dumb paged "a dumb terminal has none" "0 0" "$RINGBACK info $dump"
paged "nor has a pipe" "0 0" "$RINGBACK info $dump | cat"
paged "a mistake is told without" "0 2" "$RINGBACK info --nosuch"
paged "the exit code is the command's" "1 3" "$RINGBACK info $work/cut.rbd"
long=$(printf "x%.0s" {1..200})
for ((i = 0; i < 400; i++)); do ln "$dump" "$work/dumps/$i$long.rbd"; done
PAGER=$work/quits paged "who quits the pager early is told of no error" "0 0" "$RINGBACK list $work/dumps"
empty "nothing is said then" "$(cat "$work/screen")"
# Without less: a PATH with only the programs needed.
rm "$work/bin/less"
ln -s "$(command -v stty)" "$(command -v sh)" "$work/bin/"
timeout 100 script -qefc "PATH=$work/bin; export PATH; $RINGBACK info $dump" /dev/null </dev/null >"$work/screen"
equal "without less it is printed all the same" "0 1" "$? $(grep -c "$dump" "$work/screen")"

PAGER=$work/mine on_terminal "$RINGBACK info $dump"
check "colours are those of a terminal" grep -q $'\033\\[' "$work/screen"
PAGER=$work/mine on_terminal "$RINGBACK report $dump"
sed '/^<pager/d; s/<end>\r$//' "$work/screen" >"$work/with"
on_terminal "$RINGBACK --no-pager report $dump 2>/dev/null"
check "all is as without a pager, width included" diff <(
	cat "$work/screen"
	echo
) "$work/with"
tap_end

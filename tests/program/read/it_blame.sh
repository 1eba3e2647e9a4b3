#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Blame by control group: three threads of one group and a hog of another share a CPU. The matrix of
# `why --json` equals the waits summed from the events (tests/compare/waits_same.py), and `report`
# names the groups.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/helpers/cgroup.sh

only_root "blame by control group" "root may make control groups"

groups=()
remove_groups() {
	local group

	for group in "${groups[@]}"; do wait_for 5 rmdir "$group"; done
}
at_end+=(remove_groups)

burn() {
	for ((;;)); do :; done
}

# Works for some milliseconds at a time.
serve() {
	local i

	exec 8<>"$work/never"
	for ((;;)); do
		for ((i = 0; i < 3000; i++)); do :; done
		read -r -t 0.003 <&8
	done
}

# start FUNCTION: in the control group $cgroup, on CPU 0; sets $bg_pid
start() {
	in_background bash -c "echo \$\$ >'$cgroup/cgroup.procs'; work='$work'; $(declare -f "$1"); $1"
	taskset -pc 0 "$bg_pid" >/dev/null
}

# group NAME FUNCTION...: a control group with these; sets $cgroup_name and $pids
group() {
	local name=$1 function

	shift
	make_cgroup "$name" || return
	groups+=("$cgroup")
	pids=
	for function; do
		start "$function"
		pids+=${pids:+,}$bg_pid
	done
	wait_for 20 eval '[ "$(wc -l <"$cgroup/cgroup.procs")" = '"$#"' ]'
}

# The matrix in $work/report, without the titles.
section() {
	awk '/^[A-Z]/ { on = /^RUN QUEUE BLAME/; next } on && NF && !/control group/' "$work/report"
}

mkfifo "$work/never"
if ! group ringback-shop burn serve serve; then
	skip "blame by control group" "no control group may be made here"
	tap_end
	exit
fi
shop=$cgroup_name shop_tids=$pids
# The hog is younger than the recorder: no record tells of its move to the group.
rec_start -a -m 8M
group ringback-hog burn
hog=$cgroup_name hog_tids=$pids
sleep 1.5
path=$(dump_now)
rec_stop
# shellcheck disable=SC2046 # a list of pids
kill $(tr , ' ' <<<"$shop_tids,$hog_tids")

"$RINGBACK" why --json "$path" >"$work/why"
check "each row adds up to its waits" jq -e '[.blame[] |
	.waited_ns == .own_ns + .quota_ns + .idle_ns + .unknown_ns + ([.others[].ns] | add // 0)] | length > 1 and all' "$work/why"
check "the group waited for the hog" jq -e --arg shop "$shop" --arg hog "$hog" '
	.blame[] | select(.cgroup == $shop) | .others[] | select(.cgroup == $hog) | .ns > 10000000' "$work/why"
check "and for its own threads" jq -e --arg shop "$shop" '.blame[] | select(.cgroup == $shop) | .own_ns > 10000000' "$work/why"

"$RINGBACK" script --json "$path" | python3 tests/compare/waits_same.py "$work/why" "$shop=$shop_tids" "$hog=$hog_tids" >"$work/sums"
equal "of all pairs of groups there are sums" 8 "$(wc -l <"$work/sums")"
# Some kernels leave out a switch now and then; what was between two others is then counted in one way or the other.
empty "they are what the matrix has, but for such switches" "$(awk '{ d = $3 - $4; max = 1000 + $5 + $3 / 100 } d > max || d < -max' "$work/sums")"
empty "nearly all switches were recorded" "$(awk '$2 == "all" { all[$1] = $3 } $5 > all[$1] / 4' "$work/sums")"
sed 's/^/# /' "$work/sums"

for columns in 80 140; do
	COLUMNS=$columns "$RINGBACK" report "$path" >"$work/report"
	for name in shop hog; do
		check "report has the waits of $name in $columns columns" eval 'section |
			grep -E "^  /ringback-$name-$$ +[0-9.]+ (ms|s) +[0-9.]+% +0%  [^ ].*%"'
	done
	empty "which it fits" "$(LC_ALL=C.UTF-8 awk -v n="$columns" 'length($0) > n' "$work/report")"
done
"$RINGBACK" report --tid "$hog_tids" "$path" >"$work/report"
check "of one thread, only its waits" test "$(section | grep -c '^  .*%$')" = 1
check "which are of its group" eval 'section | grep -q "^  /ringback-hog"'
tap_end

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# export -f perf of Intel PT, read by perf itself: traces of real stepped programs are put into a
# real dump as if a processor had traced them, and perf must decode every call and return, in order,
# at its time. Areas of CPUs and of threads, overwritten starts, parts by time, the form for pipes.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

same=tests/compare/pt_same.py
tool=$loads/tool_pt

# step NAME CPU OPTION... -- PROGRAM...: writes its trace and log. This test does not need the
# program to keep its CPU.
step() {
	local name=$1 cpu=$2

	shift 2
	"$tool" step -c "$cpu" -o "$work/$name.pt" -l "$work/$name.log" "$@" >/dev/null 2>"$work/step.err"
	[ $? -lt 2 ] || not_ok "$name is stepped" "$(cat "$work/step.err")"
}

# graft DUMP OUT OPTION... NAME...
graft() {
	local from=$1 to=$2 options=() traces=()

	shift 2
	while [[ $1 = -* ]]; do
		options+=("$1")
		[ "$1" = -u ] || { options+=("$2") && shift; }
		shift
	done
	for name; do
		traces+=("$work/$name.pt" "$work/$name.log")
	done
	check "${to##*/} has the traces of $*" "$tool" graft "${options[@]}" "$from" "$to" "${traces[@]}"
}

# decode FILE ARG...: perf's steps from the export, in $work/perf
decode() {
	local file=$1

	shift
	perf script -i "$file" --itrace=bcre -F tid,time,ip,addr,flags,event --ns "$@" >"$work/perf" 2>"$work/perf.err" ||
		cat "$work/perf.err"
}

# agrees POINT ARG...: perf's steps equal the logs'
agrees() {
	local point=$1

	shift
	check "$point" python3 $same "$@"
	python3 $same "$@" | tail -n 3 | sed 's/^/# /'
}

first=${pair%,*}
second=${pair#*,}
if ! rec_start -n pt -a -e cpu-clock/freq=99/ -m 4M; then
	not_ok "it records"
	tap_end
	exit
fi
step true "$first" -- /bin/true
step gzip "$first" -n 150000 -i 5000 -p 2048 -- gzip -c LICENSE
step sort "$second" -n 150000 -b -y -- sort LICENSE
path=$(dump_now -n pt)
rec_stop
check "there is a dump" test -s "$path"

# --- areas of two CPUs, two programs in one of them ---
graft "$path" "$work/one.rbd" --cpu "$first" true gzip
graft "$work/one.rbd" "$work/cpus.rbd" --cpu "$((second + (first == second)))" sort
check "exported" "$RINGBACK" export -f perf -o "$work/cpus.data" "$work/cpus.rbd"
decode "$work/cpus.data"
agrees "perf decodes every call and return of three programs, in order, at its time" \
	"$work/perf" "$work/true.log" "$work/gzip.log" "$work/sort.log"
perf script -i "$work/cpus.data" --itrace=bcre --ns >"$work/filed" 2>/dev/null
"$RINGBACK" export -f perf "$work/cpus.rbd" | perf script -i - --itrace=bcre --ns >"$work/piped" 2>/dev/null
check "and says the same of a pipe" cmp "$work/piped" "$work/filed"
check "functions have their names" eval \
	'perf script -i "$work/cpus.data" --itrace=bcr -F ip,sym,addr --tid "$(sed -n "s/^# task \([0-9]*\) .*/\1/p" "$work/true.log")" \
		2>/dev/null | grep -q "=> .* _dl_relocate_object"'
perf script -i "$work/cpus.data" -D 2>/dev/null >"$work/raw"
equal "perf lists both areas" 2 "$(grep -c ' PERF_RECORD_AUXTRACE size:' "$work/raw")"
check "and knows the PMU" grep -qx '  Max non-turbo ratio *30' "$work/raw"

# --- parts ---
traces() {
	perf script -i "$1" -D 2>/dev/null | sed -n 's/.* PERF_RECORD_AUXTRACE size: \(0x[0-9a-f]*\) .*/\1/p'
}
# The middle of sort's time, before the trigger.
middle=$(awk '/^# moment/ { t[n++] = $4 } END { printf "%.0f", (t[1] + t[2]) / 2 }' "$work/sort.log")
before=-$(($(info_json "$path" .trigger.time) - middle))ns
graft "$path" "$work/sort.rbd" --cpu "$second" sort
check "exported" "$RINGBACK" export -f perf -o "$work/sort.data" "$work/sort.rbd"
whole=$(($(traces "$work/sort.data")))
for option in --from --to; do
	check "$option: exported" "$RINGBACK" export -f perf $option "$before" -o "$work/part.data" --force "$work/sort.rbd"
	bytes=$(($(traces "$work/part.data")))
	check "$option leaves out about half of the trace" test "$bytes" -gt $((whole / 3)) -a "$bytes" -lt $((whole * 2 / 3))
	decode "$work/part.data"
	agrees "$option: what is there is right" "$work/perf" "part:$work/sort.log"
done
graft "$path" "$work/small.rbd" --cpu "$first" -s 8192 true gzip
check "exported" "$RINGBACK" export -f perf -o "$work/small.data" "$work/small.rbd"
decode "$work/small.data"
agrees "where the oldest was overwritten, from the next place where it can begin" "$work/perf" "end:$work/gzip.log"

# --- an area of a thread ---
tid=$(sed -n 's/^# task [0-9]* \([0-9]*\) .*/\1/p' "$work/gzip.log")
graft "$path" "$work/thread.rbd" --tid "$tid" gzip
check "exported" "$RINGBACK" export -f perf -o "$work/thread.data" "$work/thread.rbd"
decode "$work/thread.data"
agrees "a thread's own area" "$work/perf" "$work/gzip.log"

# --- a damaged dump ---
head -c $(($(stat -c %s "$work/cpus.rbd") * 9 / 10)) "$work/cpus.rbd" >"$work/cut.rbd"
"$RINGBACK" export -f perf -o "$work/cut.data" "$work/cut.rbd" 2>/dev/null
equal "of a cut dump what is whole is exported" 3 $?
check "and perf reads it" perf script -i "$work/cut.data" --itrace=bcr -F time,event
tap_end

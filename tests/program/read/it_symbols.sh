#!/bin/bash
# SPDX-License-Identifier: MIT
# TIMEOUT: 400
#
# Names in a dump: every user frame of a program whose functions are known has the right one, also when its processes are
# gone, its file was replaced, is in another mount namespace, is stripped; of code that Node.js makes; and what can't be
# named is said, not guessed. Dumps are read after the programs were deleted.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# build FILE [FLAG...]: tests/helpers/known.c
build() {
	local file=$1

	shift
	gcc -O1 -g -fno-omit-frame-pointer -fno-stack-protector -fcf-protection=none -nostdlib -static \
		-Wl,--build-id=sha1 "$@" -o "$file" tests/helpers/known.c
}

# samples DUMP: of those processes, which have chains
samples() {
	"$RINGBACK" script --json --event 'cpu-clock*' --comm 'known-*' "$1"
}

# frames DUMP FILE: "COMM INDEX FUNCTION" for each frame of those processes in this file, "-" without a name
frames() {
	samples "$1" 2>"$work/script.err" | jq -r --arg dso "$2" '.comm as $c | .chain | to_entries[] |
		select(.value.dso == $dso) | "\($c) \(.key) \(.value.function // "-")"'
}

# wrong FRAMES: those that are not what the process's name says, and a count of all
wrong() {
	awk '
	{ k = substr($1, 7); all++ }
	$3 == "spin_" k && $2 == 0 { spins++; next }
	$3 == "call_" k || $3 == "entry" || $3 == "_start" || $3 == "now_ns" || $3 == "ask" { next }
	$3 == "spin_" k { next }
	{ print }
	END { if (spins < all / 10) print "only " spins + 0 " of " all + 0 " frames are in spin_K" }' "$1"
}

# strays DUMP: frames of those processes that lie in no file
strays() {
	samples "$1" | jq -r '.chain[] | select(.dso == null) | .ip'
}

# all_right NAME DUMP FILE MIN: every frame has the right function, at least MIN of them
all_right() {
	frames "$2" "$3" >"$work/frames"
	echo "# $1: $(wc -l <"$work/frames") frames, $(cut -d' ' -f1 "$work/frames" | sort -u | wc -l) names of processes"
	empty "$1: every frame has the right function" "$(wrong "$work/frames" | sort | uniq -c | head -20)"
	check "$1: there are enough of them" test "$(wc -l <"$work/frames")" -ge "$4"
}

clock=cpu-clock/freq=1999/u
# record ARG...: with time enough for names, on a busy machine too
record() {
	[[ " $* " == *" --symbols"* ]] || set -- --symbols 60s "$@"
	rec_start -a --channel "cpu:$clock;size=8M;stack=fp" "$@"
}

# ---- processes that are gone, under a flood ----
build "$work/known"
in_background "$loads/load_switch" 900 >"$work/load"
wait_for 20 grep -q ready "$work/load"
record --channel "flood:sched:sched_switch,sched:sched_wakeup;size=1M"
seq 2000 | xargs -P 4 -I{} "$work/known" {} 2
path=$(dump_now)
kill "$bg_pid"
rec_stop
mv "$work/known" "$work/known.gone"
check "the dump is whole" "$RINGBACK" check "$path"
all_right "2,000 short-lived processes" "$path" "$work/known" 8000
check "2,000 short-lived processes: nearly all of them were seen" test \
	"$(samples "$path" | jq -r .pid | sort -u | wc -l)" -ge 1500
empty "2,000 short-lived processes: no frame is outside of their file" "$(strays "$path" | sort | uniq -c | head)"
empty "no file is listed twice, whether the kernel told its build-id or its inode" \
	"$("$RINGBACK" symbols "$path" | sed '/^$/,$d' | awk '{ print $1 }' | sort | uniq -d)"
check "a line for people has the function" grep -qE \
	"^ +[0-9a-f]+ spin_[0-7]\+0x[0-9a-f]+ \(known\) known.c:[0-9]+$" <("$RINGBACK" script --comm 'known-*' "$path")
check "their source is known" test "$(samples "$path" | jq -r '.chain[]? | select(.function == "spin_3") |
	.file // "-" | sub(".*/"; "")' | sort -u)" = known.c
mv "$work/known.gone" "$work/known"
rm -f "$path"

# ---- the file is replaced: while its process lives, and after it has ended (it_keepfile.sh has the files that are held) ----
build "$work/other" -DSHIFT
cp "$work/known" "$work/live"
cp "$work/known" "$work/ended"
record --hold-files=no
in_background "$work/live" 5 60000
live=$bg_pid
"$work/ended" 6 500
sleep 0.3
cp "$work/other" "$work/new" && mv "$work/new" "$work/live"
cp "$work/other" "$work/new" && mv "$work/new" "$work/ended"
path=$(dump_now)
kill "$live"
rec_stop
rm -f "$work/live" "$work/ended"
check "the file of a living process is replaced: its frames have names" test \
	"$("$RINGBACK" script --json --comm known-5 "$path" | jq -r '.chain[].function' | grep -cx spin_5)" -ge 100
empty "... and only right ones" "$("$RINGBACK" script --json --comm known-5 "$path" | jq -r '.chain[].function // "-"' |
	grep -vxE 'spin_5|call_5|entry|_start|now_ns|ask' | sort | uniq -c)"
equal "the file of an ended process is replaced: no frame gets a wrong name" "null" \
	"$("$RINGBACK" script --json --comm known-6 "$path" | jq -r '.chain[] | select(.dso | endswith("/ended")?) | .function' |
		sort -u)"
check "... and it is said why" grep -q "/ended .* 0 %.* another file" <("$RINGBACK" symbols "$path")

# What was kept elsewhere completes it.
check "the file completes the dump later" "$RINGBACK" symbols "$path" --add "$work" -o "$work/complete.rbd"
check "... which is whole" "$RINGBACK" check "$work/complete.rbd"
check "... and has all records" cmp <("$RINGBACK" script --json "$path" | wc -l) <("$RINGBACK" script --json "$work/complete.rbd" | wc -l)
empty "... and all names of the ended process, right ones" "$("$RINGBACK" script --json --comm known-6 "$work/complete.rbd" |
	jq -r '.chain[].function // "-"' | grep -vxE 'spin_6|call_6|entry|_start|now_ns|ask' | sort | uniq -c)"
equal "... with mode 0600" 600 "$(stat -c %a "$work/complete.rbd")"
rm -f "$path" "$work/complete.rbd"

# ---- another mount namespace, where the file is nowhere else ----
cat >"$work/inside.sh" <<'END'
mount -t tmpfs none "$1/box" && cp "$1/known" "$1/box/boxed" && cp "$1/other" "$1/box/passing" &&
	"$1/box/passing" 2 800 && "$1/box/boxed" 3 60000
END
mkdir "$work/box"
record
in_background unshare --mount --propagation private bash "$work/inside.sh" "$work"
inside=$bg_pid
wait_for 20 pgrep -x known-3 >"$work/pid"
sleep 0.5
check "the file can't be seen from here" test ! -e "$work/box/boxed"
path=$(dump_now)
# shellcheck disable=SC2046 # a list of pids
kill $(pgrep -P "$inside") "$inside"
wait "$inside" 2>/dev/null
rec_stop
for k in 2 3; do
	state=$([ $k = 2 ] && echo ended || echo living)
	check "in another mount namespace, $state: there are names" test \
		"$("$RINGBACK" script --json --comm known-$k "$path" | jq -r '.chain[].function' | grep -cx spin_$k)" -ge 100
	empty "... and only right ones" "$("$RINGBACK" script --json --comm known-$k "$path" | jq -r '.chain[].function // "-"' |
		grep -vxE "spin_$k|call_$k|entry|_start|now_ns|ask" | sort | uniq -c)"
done
equal "... by a file of its own" "box/boxed box/passing" "$("$RINGBACK" script --json --comm 'known-*' "$path" |
	jq -r '.chain[].dso' | grep -oE 'box/.*' | sort -u | xargs)"
rm -f "$path"

# ---- stripped: with a debug file beside it, with MiniDebugInfo, with nothing ----
mkdir "$work/.debug" "$work/store"
objcopy --only-keep-debug "$work/known" "$work/.debug/linked.debug"
objcopy -S --add-gnu-debuglink="$work/.debug/linked.debug" "$work/known" "$work/linked"
objcopy -S --remove-section .gnu_debuglink "$work/known" "$work/bare"
nm "$work/known" --format=posix --defined-only | awk '$2 ~ /[tT]/ { print $1 }' >"$work/names"
objcopy -S --keep-symbols="$work/names" "$work/known" "$work/mini.elf"
xz -k "$work/mini.elf"
objcopy --add-section .gnu_debugdata="$work/mini.elf.xz" "$work/bare" "$work/mini"
cp "$work/.debug/linked.debug" "$work/store/some-name"
record
for program in linked:1 mini:2 bare:4; do
	"$work/${program%:*}" "${program#*:}" 400
done
path=$(dump_now)
rec_stop
rm -rf "$work/linked" "$work/bare" "$work/mini" "$work/.debug" "$work/known"
all_right "a debug file by .gnu_debuglink" "$path" "$work/linked" 300
check "... with source lines" grep -q "known.c:" <("$RINGBACK" script --comm known-1 "$path")
all_right "MiniDebugInfo" "$path" "$work/mini" 300
equal "stripped, without either: no name is made up" "-" "$(frames "$path" "$work/bare" | cut -d' ' -f3 | sort -u)"
check "... and it is said why" grep -q "/bare .* 0 %.*stripped" <("$RINGBACK" symbols "$path")
check "... and what would help" grep -qE "DIR/.build-id/[0-9a-f]{2}/[0-9a-f]{38}.debug  for .*/bare" <("$RINGBACK" symbols "$path")
# A server that has what debuginfod servers have, at their paths.
id=$("$RINGBACK" symbols "$path" | sed -n 's,.*/.build-id/\(..\)/\(.*\)\.debug  for .*/bare$,\1\2,p')
mkdir -p "$work/server/buildid/$id" "$work/none"
cp "$work/store/some-name" "$work/server/buildid/$id/debuginfo"
in_background python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$work/server" >"$work/http" 2>&1
wait_for 20 grep -q 'http://127' "$work/http"
url=$(sed -n 's,.*(\(http://127[0-9.:]*\)/).*,\1,p' "$work/http")
check "a debuginfod server completes the dump" env DEBUGINFOD_URLS="$url" DEBUGINFOD_CACHE_PATH="$work/cache" \
	"$RINGBACK" symbols "$path" --add "$work/none" -o "$work/served.rbd"
all_right "stripped, completed from a server" "$work/served.rbd" "$work/bare" 300
kill "$bg_pid"
requests=$(grep -c GET "$work/http")
"$RINGBACK" symbols "$path" --add "$work/none" -o "$work/unserved.rbd" >/dev/null
equal "without DEBUGINFOD_URLS nobody is asked" "$requests" "$(grep -c GET "$work/http")"
rm -f "$work"/*served.rbd
before=$(stat -c %s "$path")
check "a debug file alone completes the dump, in place" "$RINGBACK" symbols "$path" --add "$work/store"
check "... which has grown" test "$(stat -c %s "$path")" -gt "$before"
all_right "stripped, completed later" "$path" "$work/bare" 300
check "... and is whole" "$RINGBACK" check "$path"
equal "no temporary file is left" "" "$(find "$work/dumps" -name '*.rbd.*')"
rm -f "$path"

# ---- Node.js: alive, ended, in a pid and mount namespace of its own ----
cat >"$work/hot.js" <<'END'
function hotInner(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 31 + i) % 1000003; return x; }
function hotOuter(n) { let s = 0; for (let i = 0; i < 50; i++) s += hotInner(n); return s; }
const end = Date.now() + Number(process.argv[2]);
let sum = 0;
while (Date.now() < end) sum += hotOuter(20000);
END
# It leaves a log where it is started.
node=(node --perf-basic-prof --interpreted-frames-native-stack --no-turbo-inlining)

# made_code NAME PID: its last 200 stacks in $path
made_code() {
	local total hot

	"$RINGBACK" script --json --pid "$2" "$path" |
		jq -c 'select(.chain) | [.chain[] | {f: (.function // "-"), d: (.dso // "-")}]' | grep JS | tail -n 200 >"$work/chains"
	total=$(wc -l <"$work/chains")
	hot=$(jq -r 'map(.f) | join(" ")' "$work/chains" | grep -c 'hotInner.*hotOuter')
	echo "# $1: $hot of $total stacks are hotInner called by hotOuter"
	check "$1: at least 9 of 10 stacks are in the two functions" test $((hot * 10)) -ge $((total * 9))
	check "$1: enough stacks" test "$total" -ge 200
	empty "$1: no frame of made code is without a name" \
		"$(jq -r '.[] | select(.d | test("^/[^/]") | not) | select(.f == "-") | .d' "$work/chains" | sort | uniq -c)"
}

record
in_background bash -c 'cd "$1" && shift && exec "$@"' - "$work" "${node[@]}" hot.js 60000
alive=$bg_pid
at_end+=("rm -f /tmp/perf-$alive.map")
wait_for 30 has_used "$alive" 150
path=$(dump_now)
kill "$alive"
wait "$alive" 2>/dev/null
made_code "Node.js" "$alive"
rm -f "$path"

(cd "$work" && exec "${node[@]}" hot.js 1500) &
ended=$!
at_end+=("rm -f /tmp/perf-$ended.map")
wait "$ended"
path=$(dump_now)
made_code "Node.js that has ended" "$ended"
rm -f "$path"

# Without these flags it is told that they are missing, in each view.
in_background node "$work/hot.js" 60000
silent=$bg_pid
wait_for 30 has_used "$silent" 150
path=$(dump_now)
kill "$silent"
wait "$silent" 2>/dev/null
lacks="^ *\(missing .*\)\?node ($silent): [0-9]* % of its stacks lack the names of JavaScript functions; run it with"
check "Node.js without the flags: symbols names them" grep -q "$lacks --perf-basic-prof.*(ringback-runtimes(7))$" \
	<("$RINGBACK" symbols "$path")
check "... so does report" grep -q "$lacks" <("$RINGBACK" report --comm node "$path")
check "... and why, where it is about that process" grep -q "$lacks" <("$RINGBACK" why --tid "$silent" "$path")
empty "... not of one that has them" "$("$RINGBACK" symbols "$path" | grep "(\($alive\|$ended\)).*lack the names")"
rm -f "$path"

# Its /tmp is another one, where its file is named by another pid.
in_background unshare --mount --propagation private --pid --fork --mount-proc bash -c \
	'mount -t tmpfs none /tmp && cd /tmp && shift && exec "$@"' - "$work" "${node[@]}" -e "$(cat "$work/hot.js")" - 60000 2>"$work/unshare"
wait_for 20 pgrep -P "$bg_pid" node >"$work/pid"
inside=$(pgrep -P "$bg_pid" node)
wait_for 30 has_used "$inside" 150
path=$(dump_now)
kill -KILL "$inside" # it is the first in its namespace, which no other signal ends
wait "$bg_pid" 2>/dev/null
rec_stop
made_code "Node.js in its own namespaces" "$inside"
rm -f "$path"

# ---- how long, or not at all ----
build "$work/known"
in_background "$work/known" 7 60000
for budget in off 1us; do
	record --symbols "$budget"
	wait_for 20 written_since 20000
	path=$(dump_now)
	rec_stop
	check "--symbols=$budget: the dump is whole" "$RINGBACK" check "$path"
	equal "--symbols=$budget: no names" "-" "$(frames "$path" "$work/known" | cut -d' ' -f3 | sort -u)"
done

# ---- the process that looks for them: hung, killed, in the way of the next dump ----
# catch SIGNAL: to that process of the dump that is being made; no process is started for it: it would come too late
catch() {
	local n children pid comm

	for ((n = 0; n < 200000; n++)); do
		for children in /proc/"$rec_pid"/task/*/children; do
			pid=
			read -r pid <"$children"
			pid=${pid%% *} comm=
			[ -n "$pid" ] && read -r comm <"/proc/$pid/comm"
			# Not before it is another program: until then the dump's thread waits for it.
			[ "$comm" = ringback-names ] && kill -"$1" "$pid" && return
		done
	done 2>/dev/null
	echo "# nobody looked for names"
}

record --symbols 3s
wait_for 20 written_since 20000
dump_now >"$work/first" &
first=$!
catch KILL
wait "$first"
path=$(cat "$work/first")
equal "killed: that is said" died "$(info_json "$path" .symbols.end)"
check "killed: the dump is whole" "$RINGBACK" check "$path"

dump_now >"$work/first" &
first=$!
catch STOP
wait "$first"
path=$(cat "$work/first")
equal "hung: its time ends" time "$(info_json "$path" .symbols.end)"
check "hung: the dump is whole" "$RINGBACK" check "$path"
rec_stop

record --symbols 60s
wait_for 20 written_since 20000
dump_now >"$work/first" &
first=$!
catch STOP
t0=$EPOCHREALTIME
second=$(dump_now)
wait "$first"
took=$(echo "$EPOCHREALTIME $t0" | awk '{ printf "%d", ($1 - $2) * 1000 }')
path=$(cat "$work/first")
echo "# the next dump was there after $took ms"
equal "a trigger meanwhile ends it" hit "$(info_json "$path" .symbols.end)"
check "... and gets a dump of its own" test "$path" != "$second"
check "... soon" test "$took" -lt 20000
equal "... whose names are found" "done" "$(info_json "$second" .symbols.end)"
for file in "$path" "$second"; do check "... both are whole" "$RINGBACK" check "$file"; done
dump_now >"$work/first" &
first=$!
catch STOP
"$RINGBACK" trigger >"$work/third" &
third=$!
sleep 0.5
kill -HUP "$rec_pid"
wait "$first" "$third"
check "... also when the configuration is read anew meanwhile" "$RINGBACK" check "$(cat "$work/third")"
dump_now >"$work/first" &
first=$!
catch STOP
kill "$rec_pid"
sleep 0.2
kill "$rec_pid"
wait "$rec_pid"
wait "$first"
check "a recorder that is told twice to stop does not wait for names" "$RINGBACK" check "$(cat "$work/first")"
tap_end

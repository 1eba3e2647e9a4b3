#!/bin/bash
# SPDX-License-Identifier: MIT
# ALONE: the trouble that it is about must be the greatest on the machine
# TIMEOUT: 600
#
# Runs each incident of examples/, in which the program asks for a dump, and checks that `why` names
# the cause: the kind of trouble, the thread that suffers, the culprit and its function. For an idle
# machine and for a compilation `why` finds nothing unusual. Rings are larger than usual, because
# other tests may cause many events meanwhile.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/helpers/crashes.sh

export RINGBACK_RUN_OPTIONS="-m 8M"

# happens NAME: sets $dump; the verdict is in $work/NAME.json and .txt
happens() {
	mkdir "$work/$1"
	RINGBACK_RUN_DIR=$work/$1 examples/run.sh "$1" "$RINGBACK" >"$work/$1.out" 2>&1
	status=$?
	[ $status = 77 ] && return 77
	dump=$(tail -n 1 "$work/$1/paths")
	"$RINGBACK" why "$dump" >"$work/$1.txt" &
	"$RINGBACK" why --json "$dump" >"$work/$1.json" && wait $!
}

got() {
	jq -r "$2" "$work/$1.json" 2>/dev/null
}

# is NAME WHAT WANT FILTER: WANT is a pattern
is() {
	local value

	value=$(got "$1" "$4")
	# shellcheck disable=SC2053 # a pattern
	if [[ $value == $3 ]]; then
		ok "$1: $2 is $3"
	else
		not_ok "$1: $2 is $3" "it is: $value
$(cat "$work/$1.txt" "$work/$1.out" 2>/dev/null)"
	fi
}

# incident NAME KIND THREAD CULPRIT FUNCTION WORDS: patterns; WORDS are in the first line. Other
# load on the machine may have been the greater trouble, so it tries once more.
incident() {
	local again

	for again in 0 1; do
		if ! happens "$1" && [ "$status" = 77 ]; then
			skip "$1: its cause is named" "$(tail -n 1 "$work/$1.out")"
			return
		fi
		# shellcheck disable=SC2053 # a pattern
		[ "$(got "$1" .kind)" != "$2" ] || [[ $(got "$1" .culprit.comm) != $4 ]] || break
		echo "# $1: $(got "$1" .verdict)"
		[ $again = 1 ] || rm -rf "${work:?}/$1"
	done
	is "$1" kind "$2" .kind
	is "$1" thread "$3" .thread.comm
	is "$1" culprit "$4" .culprit.comm
	is "$1" function "$5" .function
	is "$1" sentence "$6" .verdict
	check "$1: the events prove it" python3 tests/compare/facts.py "$RINGBACK" "$dump"
	check "$1: that takes at most 15 lines" test "$(wc -l <"$work/$1.txt")" -le 15
	rm -rf "${work:?}/$1"
}

incident lock-convoy lock-convoy 'shop-*' 'shop-*' sign_line* '*6 threads*'
incident priority-inversion priority-inversion bus_manager radio send_images* '*weather*'
incident cpu-hog cpu-contention prices compress compress_block* '*CPU*'
incident fork-storm fork-storm null supervisor '*' '*true*'
incident slow-fsync blocked ledgerd '*' book* '*fsync()*'
incident starved-pool long-task frontend 'pool-*' render_yearly_report* '*'
incident late-timer late-timer heartbeat fieldbus poll_device* '*late*'
incident dead-peer dead-peer checkout bank '*' '*stopped by gdb*'
incident copy-storm page-fault-storm cached cached update_all* '*snapshot*'
incident crash crash desk-2 desk-2 price_of* '*orders*SIGSEGV*'
incident memory-pressure memory-pressure indexer indexer index_round* '*blocked*'
incident cpu-quota cpu-quota api '*' answer* '*quota*'
incident mmap-lock address-space-lock request price-loader '*' '*mmap_lock*'
incident slow-fuse fuse backup bucketfs compact_cache* '*FUSE*'
incident upstream-late long-task webshop zone-db reload_zone* '*resolver*'
incident backpressure-pipe backpressure api archiver compress_segment* '*full pipe*'
incident exec-vfork vfork maild '*' close_inherited* '*vfork()*'
incident stopped-service dead-peer search-page index-worker '*' '*stopped by copy-index*'
incident affinity affinity search worker '*' '*affinity of worker*allows only CPU*'
incident timer-slack timer-slack sampler sampler '*' '*timer slack*'
incident thundering-herd thundering-herd support-chat chat-server '*' '*woke*threads*'
# A shell asks, and names no thread.
RINGBACK_ASK=outside incident no-answer deadlock '@(checkout|tax-service|rate-updater)' '@(tax-service|rate-updater)' '*' 'deadlock:*'

# quietly NAME KINDS COMMAND...: the command makes NAME's dump, and the findings are among KINDS.
# Tries again, because other load on the machine may have caused real trouble.
quietly() {
	local name=$1 kinds=$2 i

	shift 2
	for ((i = 0; i < 5; i++)); do
		"$@"
		# shellcheck disable=SC2053 # a pattern
		[[ $(got "$name" .kind) != $kinds ]] || break
		echo "# $name: $(got "$name" .verdict)"
	done
	is "$name" kind "$kinds" .kind
	is "$name" sentence '@(nothing unusual|overload)*' .verdict
}

quiet() {
	rm -rf "$work/quiet"
	happens quiet
}

# A compilation is not unusual, but with other load it may be too much.
compile() {
	rec_start -a -m 8M
	nice make -s O="$work/build" -j2 CC=gcc "$work/build/libdump.a" >/dev/null 2>&1
	dump=$(dump_now)
	"$RINGBACK" why --json "$dump" >"$work/compile.json"
	"$RINGBACK" why "$dump" >"$work/compile.txt"
	rec_stop
	rm -rf "$work/build" "$dump"
}

quietly quiet none quiet
quietly compile '@(none|overload)' compile

# ---- crashes reported at another place than the fault ----

# crashes NAME COMMAND...: redis-server, with its own crash handler, crashes by COMMAND; the verdict
# is in $work/NAME.txt
crashes() {
	local name=$1 server

	shift
	rec_start -a -T 'crash:redis-server'
	redis-server --port 0 --unixsocket "$work/redis" --save '' --dir "$work" --enable-debug-command yes >/dev/null 2>&1 &
	server=$!
	wait_for 20 redis-cli -s "$work/redis" ping >/dev/null
	SERVER=$server "$@" >/dev/null 2>&1
	wait "$server" 2>/dev/null
	wait_for 20 has_dumps 1
	rec_stop
	"$RINGBACK" why "$(last)" >"$work/$name.txt"
	"$RINGBACK" why --json "$(last)" >"$work/$name.json"
	rm -f "$(last)"
}

crashes handler redis-cli -s "$work/redis" debug segfault
is handler "crash in the function that had the fault" 'redis-server * crashed with SIGSEGV in debugCommand()*' .verdict
is handler "what the handler did" '*its signal handler was then killed by *' '.evidence[] | select(.label == "handler").text'
# shellcheck disable=SC2016 # it is for that shell
crashes sent bash -c 'kill -SEGV $SERVER; :'
is sent "who sent the signal" 'redis-server * was killed by SIGSEGV, sent by bash (*' .verdict

for damaged in "" "nonsense"; do
	printf '%s' "$damaged" >"$work/bad.rbd"
	"$RINGBACK" why "$work/bad.rbd" >"$work/bad.out" 2>"$work/bad.err"
	check "what is no dump is refused" test $? = 3 -o $? = 1
done
rm -rf "$work/dumps"
tap_end

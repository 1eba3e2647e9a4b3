#!/bin/bash
# SPDX-License-Identifier: MIT
#
# noise.sh build|forks|crash|redis [DIR]: ordinary work beside an incident, until it is killed. Files go to DIR.
#
#	build	a compiler, one file after the other
#	forks	a shell loop that starts processes
#	crash	a program that crashes every second
#	redis	a server and its benchmark over a socket
set -u
dir=${2:-$(mktemp -d)}

trap 'kill $(jobs -p) 2>/dev/null; exit 0' TERM INT

case ${1-} in
build)
	for ((i = 0; i < 400; i++)); do
		printf 'static int f%d(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * x ^ %d; return s; }\nint g%d(int x) { return f%d(x) * 3; }\n' \
			$i $i $i $i
	done >"$dir/noise.c"
	while :; do gcc -O2 -c -o "$dir/noise.o" "$dir/noise.c"; done &
	;;
forks)
	while :; do /bin/true; done &
	;;
crash)
	# shellcheck disable=SC2016 # it is for that shell
	while :; do bash -c 'ulimit -c 0; kill -SEGV $$' 2>/dev/null; sleep 1; done &
	;;
redis)
	redis-server --port 0 --unixsocket "$dir/noise.sock" --save '' --logfile /dev/null --dir "$dir" &
	sleep 0.2
	while :; do redis-benchmark -s "$dir/noise.sock" -c 5 -n 20000 -t get,set -q >/dev/null 2>&1; done &
	;;
*)
	echo "usage: noise.sh build|forks|crash|redis [DIR]" >&2
	exit 2
	;;
esac
wait

#!/bin/bash
# SPDX-License-Identifier: MIT
# What a service manager is told: states, status text, signs of life for its watchdog.
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# Each message as a line, its parts joined by spaces.
python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(" ".join(s.recv(65536).decode().split("\n")), flush=True)
' "$work/manager" >>"$work/told" &
wait_for 10 test -S "$work/manager"
export NOTIFY_SOCKET=$work/manager

told() { grep -qE -- "$1" "$work/told"; }
# nr_told TEXT: number of such messages
nr_told() { grep -cx -- "$1" "$work/told"; }
told_twice() { [ "$(nr_told "$1")" -ge 2 ]; }

printf '[record]\n' >"$work/conf"
chmod 600 "$work/conf"
export WATCHDOG_USEC=400000
rec_start --config "$work/conf" -e dummy -p $$ -T 'signal:RTMIN+1'
rules=$("$RINGBACK" status --json | jq '.rules | length')
check "it is ready, with the number of rules" wait_for 10 told "^READY=1 STATUS=recording default: $rules rules; 0 dumps\$"
check "its main loop gives signs of life" wait_for 10 told_twice WATCHDOG=1
path=$(dump_now)
check "a dump is in the status" wait_for 10 told "^STATUS=recording default: $rules rules(, horizon [^;]*)?; 1 dump, last $path\$"
: >"$work/told"
kill -HUP "$rec_pid"
check "a reload has a beginning" wait_for 10 told '^RELOADING=1 MONOTONIC_USEC=[0-9]+$'
check "and an end" wait_for 10 told "^READY=1 STATUS=recording default: $rules rules.*; 1 dump, last $path\$"
# Rules and limits are applied; the rest is named and waits for a restart.
empty "with nothing changed nothing else is told" "$(grep restart "$work/err")"
printf '[record]\nevent = dummy\nledger-size = 2M\n' >"$work/conf"
kill -HUP "$rec_pid"
check "a new setting is named" wait_for 10 grep -q 'warning: ledger-size changed: that takes effect at the next restart' "$work/err"
printf '[record]\ncall-graph = fp\n' >"$work/conf"
kill -HUP "$rec_pid"
check "a changed channel as well" wait_for 10 grep -q 'warning: channel events changed: that takes' "$work/err"
kill -STOP "$rec_pid"
: >"$work/told"
sleep 0.5
equal "a main loop that hangs gives no sign of life" 0 "$(nr_told WATCHDOG=1)"
kill -CONT "$rec_pid"
check "one that goes on does" wait_for 10 told WATCHDOG=1
rec_stop
check "it tells that it stops" wait_for 10 told '^STOPPING=1$'

: >"$work/told"
rec_start -e dummy -p $$ --post 1h
dump_now --reason late >/dev/null &
wait_for 10 eval '"$RINGBACK" status --json | jq -e ".state != \"armed\"" >/dev/null'
rec_stop
check "with a dump to write it asks for more time" wait_for 10 told '^STOPPING=1 EXTEND_TIMEOUT_USEC=300000000 STATUS='
check "and writes it" grep -q '\.rbd$' "$work/out"

: >"$work/told"
WATCHDOG_PID=1 rec_start -e dummy -p $$
wait_for 10 told READY=1
sleep 0.5
equal "another process's watchdog gets none" 0 "$(nr_told WATCHDOG=1)"
rec_stop
tap_end

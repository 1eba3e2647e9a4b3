#!/bin/bash
# SPDX-License-Identifier: MIT
# Metrics of a recorder: as a file, and over HTTP on a Unix socket. promtool checks them.
cd "$(dirname "$0")/../../.." || exit 1
. tests/helpers/tap.sh
. tests/helpers/recorder.sh

# http [PATH]: the answer of the metrics socket, with its head
http() {
	python3 - "$work/run/default.metrics" "GET ${1-/metrics} HTTP/1.1\r\nHost: x\r\n\r\n" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
s.connect(sys.argv[1])
request = sys.argv[2].replace("\\r\\n", "\r\n").encode()
s.send(request[:9])
s.send(request[9:])
answer = b""
while True:
    some = s.recv(65536)
    if not some:
        break
    answer += some
head, body = answer.split(b"\r\n\r\n", 1)
length = [int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
print(head.split(b"\r\n")[0].decode() if length == [len(body)] else "wrong length")
sys.stdout.write(body.decode())
END
}

# value SAMPLE FILE
value() {
	grep -F "$1" "$2" | sed 's/.* //'
}

names() {
	sed -n 's/^\([a-z_]*\){.*/\1/p' "$1" | sort -u
}

mode() {
	stat -c %a "$1"
}

rec_start -p $$ -e dummy -m 16K -T signal:USR1
equal "only the recorder's user can connect to the socket" 600 "$(mode "$work/run/default.metrics")"
http >"$work/before"
dump_now >/dev/null
http >"$work/answer"
equal "HTTP is spoken, also to one who sends slowly" "HTTP/1.1 200 OK" "$(head -n 1 "$work/answer")"
sed 1d "$work/answer" >"$work/http"
"$RINGBACK" status --metrics >"$work/text"
equal "status prints the same metrics" "$(names "$work/http")" "$(names "$work/text")"
for f in before http text; do
	sed -i '/^HTTP/d' "$work/$f"
	check "promtool accepts them ($f)" promtool check metrics <"$work/$f"
done
equal "dumps are counted" "0 1" "$(value 'ringback_dumps_total{' "$work/before") $(value 'ringback_dumps_total{' "$work/http")"
equal "and hits by rule" "1 0" "$(value 'rule_hits_total{recorder="default",rule="manual"}' "$work/http") $(
	value 'rule_hits_total{recorder="default",rule="signal-USR1"}' "$work/http")"
equal "no time of the last dump before the first" "" "$(value 'ringback_last_dump_timestamp_seconds{' "$work/before")"
check "then it is now" test "$(value 'ringback_last_dump_timestamp_seconds{' "$work/http" | cut -d. -f1)" -ge $(($(date +%s) - 300))
equal "a channel's horizon and bytes" 2 "$(grep -cE '^ringback_channel_(horizon_seconds|written_bytes_total)\{recorder="default",channel="events"\} [0-9.]+$' "$work/http")"
equal "another path" "HTTP/1.1 404 Not Found|only GET /metrics is answered" "$(http / | paste -sd'|')"
equal "a longer name" "HTTP/1.1 404 Not Found" "$(http /metricsx | head -n 1)"
equal "with a query" "HTTP/1.1 200 OK" "$(http '/metrics?x=1' | head -n 1)"

for i in 1 2; do
	"$RINGBACK" status --metrics -o "$work/ringback.prom"
	equal "a file, written time $i: exit code, mode, what is beside it" "0 644 1" \
		"$? $(mode "$work/ringback.prom") $(find "$work" -maxdepth 1 -name '*ringback.prom*' | wc -l)"
done
equal "has the same metrics" "$(names "$work/http")" "$(names "$work/ringback.prom")"
"$RINGBACK" status --metrics -o /dev/null
equal "a device keeps its mode" "0 666" "$? $(mode /dev/null)"

at=examples/prometheus
check "promtool accepts the alert rules of the examples" promtool check rules $at/alerts.yml
used() {
	cat $at/alerts.yml $at/ringback.json | grep -oE 'ringback_[a-z_]+' | sort -u
}
equal "rules and dashboard name metrics that there are" "" "$(comm -23 <(used) <(sed -n 's/^# TYPE \(ringback_[a-z_]*\).*/\1/p' "$work/http" | sort -u))"
jq -r '.panels[].targets[].expr' $at/ringback.json | sed 's/\$__rate_interval/5m/' |
	jq -R '{alert: "a", expr: .}' | jq -s '{groups: [{name: "panels", rules: .}]}' >"$work/panels.yml"
check "queries of the dashboard are valid" promtool check rules --lint=none "$work/panels.yml"

first=$rec_pid
rec_start -n second -p $$ -e dummy -m 16K
"$RINGBACK" status --metrics >"$work/two"
check "two recorders: promtool accepts them" promtool check metrics <"$work/two"
equal "two recorders: both are there" "default second" "$(sed -n 's/^ringback_build_info{recorder="\([a-z]*\)".*/\1/p' "$work/two" | paste -sd' ')"
rec_stop
rec_pid=$first
rec_stop
equal "the socket goes with the recorder" "" "$(ls "$work/run")"
"$RINGBACK" status --metrics -o "$work/ringback.prom" 2>"$work/e"
equal "without a recorder: failure, and a file without samples" "1 0" "$? $(grep -vc '^#' "$work/ringback.prom")"
"$RINGBACK" status -o "$work/x" 2>"$work/e"
equal "-o alone is a usage error" 2 $?
tap_end

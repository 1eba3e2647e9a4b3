#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034 # variables are for the benchmarks that source this
#
# Sourced, after lib.sh, by benchmarks that put redis (on a Unix socket), nginx and PostgreSQL (on loopback, $port) under load:
# NAME_start starts a server, with pid $bg_pid; NAME_load loads it for some seconds and prints requests a second, and of
# their latency in ms the 99th, 50th and 99.9th percentile.

port=$((20000 + RANDOM % 20000))

# --- redis ---
redis_start() {
	in_background redis-server --port 0 --unixsocket "$work/redis" --save '' --dir "$work" >/dev/null
	wait_for 20 eval '[ "$(redis-cli -s "$work/redis" ping)" = PONG ]'
}

redis_load() {
	redis-benchmark -s "$work/redis" -n 120000 -c 20 -t get 2>/dev/null | awk '
		$2 == "<=" && $1 + 0 >= 99.9 && !p999 { p999 = $3 }
		/throughput summary/ { rps = $3 }
		p50_next { p50 = $3; p99 = $5 }
		{ p50_next = / p50 / }
		END { print rps, p99, p50, p999 }'
}

# --- nginx ---
nginx_start() {
	mkdir "$work/www"
	chmod 755 "$work" "$work/www"
	head -c 1000 /dev/zero | tr '\0' x >"$work/www/index.html"
	cat >"$work/nginx.conf" <<-END
		daemon off;
		worker_processes 2;
		error_log $work/nginx.log;
		pid $work/nginx.pid;
		events { worker_connections 256; }
		http { access_log off; server { listen 127.0.0.1:$port; root $work/www; } }
	END
	in_background nginx -c "$work/nginx.conf"
	cat >"$work/wrk.lua" <<-END
		function done(summary, latency)
			local function ms(q) return latency:percentile(q) / 1000 end
			print("load", summary.requests / summary.duration * 1e6, ms(99), ms(50), ms(99.9))
		end
	END
	wait_for 20 eval 'wrk -d 1 -c 1 -t 1 http://127.0.0.1:$port/ >/dev/null'
}

nginx_load() {
	wrk -d 3 -c 20 -t 1 -s "$work/wrk.lua" "http://127.0.0.1:$port/" | awk '/^load/ { print $2, $3, $4, $5 }'
}

# --- PostgreSQL ---
postgres_start() {
	postgres=$(dirname "$(ls /usr/lib/postgresql/*/bin/pgbench | tail -n 1)")
	mkdir "$work/pg"
	chown postgres "$work/pg"
	chmod 755 "$work"
	setpriv --reuid postgres --clear-groups "$postgres/initdb" -A trust -D "$work/pg/data" >/dev/null
	in_background setpriv --reuid postgres --clear-groups "$postgres/postgres" -D "$work/pg/data" -p $port -k "$work/pg" \
		-c fsync=off -c listen_addresses= >/dev/null 2>&1
	wait_for 60 setpriv --reuid postgres --clear-groups "$postgres/pgbench" -h "$work/pg" -p $port -U postgres -i -q postgres \
		>/dev/null
}

postgres_load() {
	setpriv --reuid postgres --clear-groups "$postgres/pgbench" -h "$work/pg" -p $port -U postgres -S -c 4 -T 3 -l \
		--log-prefix="$work/pg/log" postgres 2>/dev/null | awk '/^tps/ { printf "%s ", $3 }'
	cat "$work"/pg/log* | awk '{ print $3 / 1000 }' >"$work/ms"
	rm -f "$work"/pg/log*
	echo "$(percentile 99 "$work/ms") $(percentile 50 "$work/ms") $(percentile 99.9 "$work/ms")"
}

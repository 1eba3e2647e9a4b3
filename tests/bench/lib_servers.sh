#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034 # variables are for the benchmarks that source this
#
# Sourced, after lib.sh, by benchmarks that put redis, nginx and PostgreSQL on loopback under load: NAME_start starts a server on
# $port, with pid $bg_pid; NAME_load loads it for some seconds and prints requests a second and the 99th percentile of
# their latency in ms.

port=$((20000 + RANDOM % 20000))

# --- redis ---
redis_start() {
	in_background redis-server --port $port --save '' --dir "$work" >/dev/null
	wait_for 20 eval '[ "$(redis-cli -p $port ping)" = PONG ]'
}

# Requests a second, and ms.
redis_load() {
	redis-benchmark -p $port -n 120000 -c 20 -t get --csv 2>/dev/null | awk -F '"' '/^"GET"/ { print $4, $14 }'
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
	wait_for 20 eval 'wrk -d 1 -c 1 -t 1 http://127.0.0.1:$port/ >/dev/null'
}

nginx_load() {
	wrk -d 3 -c 20 -t 1 --latency "http://127.0.0.1:$port/" | awk '
		/ 99%/ { p = $2; p = p ~ /us$/ ? p / 1000 : p + 0 }
		/^Requests\/sec/ { rps = $2 }
		END { print rps, p }'
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
	percentile 99 "$work/ms"
}

# SPDX-License-Identifier: MIT
"""
A client asks nginx for prices, and nginx passes each request to a price service. That takes a
millisecond or two, until the service finds that a daily report is due, and makes it before it
answers: 800 ms. nginx is idle meanwhile, and the client waits.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from incident import exit_on_sigterm, incident, ms_now, skip, start_process

NORMAL_MS = 1000
REPORT_MS = 800
LIMIT_MS = 200

CONFIGURATION = """
daemon off;
%(user)s
worker_processes 1;
pid %(dir)s/pid;
error_log %(dir)s/error.log;
events { }
http {
	access_log %(dir)s/access.log;
	client_body_temp_path %(dir)s/body;
	proxy_temp_path %(dir)s/proxy;
	fastcgi_temp_path %(dir)s/fastcgi;
	uwsgi_temp_path %(dir)s/uwsgi;
	scgi_temp_path %(dir)s/scgi;
	server {
		listen unix:%(dir)s/nginx.sock;
		location / { proxy_pass http://127.0.0.1:%(port)d; }
	}
}
"""


def build_report():
    began = time.process_time()
    totals = {}
    while time.process_time() - began < REPORT_MS / 1e3:
        for i in range(1000):
            totals[i % 97] = totals.get(i % 97, 0) + i
    return totals


def serve_prices(listener):
    began = ms_now()
    reported = False
    while True:
        connection = listener.accept()[0]
        connection.recv(4096)
        if not reported and ms_now() - began > NORMAL_MS:
            reported = True
            build_report()
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n47.11")
        connection.close()


def load_price(path):
    began = ms_now()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(b"GET /price HTTP/1.0\r\n\r\n")
    answer = b""
    while part := connection.recv(4096):
        answer += part
    connection.close()
    if not answer.endswith(b"47.11"):
        sys.exit("nginx answered: %r" % answer)
    return ms_now() - began


def run_client(path):
    took = 0
    while took < LIMIT_MS:
        took = load_price(path)
        time.sleep(0.005)
    incident("a price took %.0f ms, limit %d ms" % (took, LIMIT_MS))


def wait_for_file(path):
    for _ in range(500):
        if os.path.exists(path):
            return
        time.sleep(0.02)
    sys.exit("nginx did not start")


def run(program, directory):
    listener = socket.create_server(("127.0.0.1", 0))
    configuration = os.path.join(directory, "nginx.conf")
    with open(configuration, "w") as f:
        f.write(CONFIGURATION % {"dir": directory, "port": listener.getsockname()[1],
                                 "user": "user root root;" if os.geteuid() == 0 else ""})
    server = subprocess.Popen([program, "-c", configuration, "-p", directory])
    try:
        wait_for_file(os.path.join(directory, "nginx.sock"))
        service = start_process("price-service", serve_prices, listener)
        client = start_process("price-client", run_client, os.path.join(directory, "nginx.sock"))
        os.waitpid(client, 0)
        os.kill(service, signal.SIGKILL)
    finally:
        server.terminate()
        server.wait()


def main():
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not program:
        skip("there is no nginx")
    exit_on_sigterm()
    with tempfile.TemporaryDirectory() as directory:
        run(program, directory)


main()

# SPDX-License-Identifier: MIT
"""
A shop asks redis for a key 200 times a second. A nightly script runs KEYS * over a million keys.
redis has one thread for commands, so the shop's next GET waits until all names are collected.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from incident import connect, exit_on_sigterm, incident, ms_now, skip, start_process

NORMAL_MS = 1000
LIMIT_MS = 150
KEYS = 1000000


def ask(connection, command):
    """Sends a command that is answered in one line."""
    connection.sendall(command.encode() + b"\r\n")
    answer = b""
    while not answer.endswith(b"\r\n"):
        answer += connection.recv(4096)
    return answer


def look_up(connection):
    began = ms_now()
    ask(connection, "EXISTS key:4711")
    return ms_now() - began


def list_all_keys(connection):
    connection.sendall(b"KEYS *\r\n")
    while connection.recv(1 << 20):
        pass


def run_nightly_script(path):
    connection = connect(path)
    time.sleep(NORMAL_MS / 1e3)
    list_all_keys(connection)


def run_shop(path):
    connection = connect(path)
    took = 0
    while took < LIMIT_MS:
        took = look_up(connection)
        time.sleep(0.005)
    incident("a lookup took %.0f ms, limit %d ms" % (took, LIMIT_MS))


def run_clients(path):
    ask(connect(path), "DEBUG POPULATE %d" % KEYS)
    shop = start_process("shop", run_shop, path)
    script = start_process("nightly-script", run_nightly_script, path)
    os.waitpid(shop, 0)
    os.kill(script, signal.SIGKILL)


def main():
    program = shutil.which("redis-server")
    if not program:
        skip("there is no redis-server")
    exit_on_sigterm()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "redis.sock")
        server = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", path, "--save", "", "--dir", directory,
             "--enable-debug-command", "local"], stdout=subprocess.DEVNULL)
        try:
            run_clients(path)
        finally:
            server.kill()
            server.wait()


main()

# SPDX-License-Identifier: MIT
"""
A browser loads a page from a server that runs in Node.js. Then a supplier has its catalogue
imported, and the server parses it with one call of JSON.parse(), which takes 600 ms. Node.js has one
thread for all requests, its event loop: the browser waits.
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
PARSE_MS = 600
LIMIT_MS = 200


def get(connection, url):
    """Milliseconds that the answer took, which fits into one packet."""
    began = ms_now()
    connection.sendall(b"GET %s HTTP/1.1\r\nHost: menu\r\n\r\n" % url)
    if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
        sys.exit("the server failed")
    return ms_now() - began


def run_supplier(path):
    connection = connect(path)
    time.sleep(NORMAL_MS / 1e3)
    get(connection, b"/import")


def run_browser(path):
    connection = connect(path)
    took = 0
    while took < LIMIT_MS:
        took = get(connection, b"/menu")
        time.sleep(0.005)
    incident("a page took %.0f ms, limit %d ms" % (took, LIMIT_MS))


def run_clients(path):
    get(connect(path), b"/menu")
    browser = start_process("browser", run_browser, path)
    supplier = start_process("supplier", run_supplier, path)
    os.waitpid(browser, 0)
    os.kill(supplier, signal.SIGKILL)


def main():
    program = shutil.which("node") or shutil.which("nodejs")
    if not program:
        skip("there is no Node.js")
    exit_on_sigterm()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.js")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "menu.sock")
        server = subprocess.Popen([program, script, path, str(PARSE_MS)])
        try:
            run_clients(path)
        finally:
            server.kill()
            server.wait()


main()

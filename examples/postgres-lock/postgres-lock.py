# SPDX-License-Identifier: MIT
"""
A cashier books sales into a row of PostgreSQL, and a slow client changes the same row: it begins a
transaction, updates the row, asks a supplier, and commits. That takes a millisecond, until the
supplier does not answer for 700 ms. The row stays locked, and the cashier's backend waits for the
slow client's backend, which waits for its client.
"""

import glob
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from incident import exit_on_sigterm, incident, ms_now, skip, start_process

NORMAL_MS = 1000
SUPPLIER_MS = 700
LIMIT_MS = 200
USER = "postgres"


class Session:
    """A connection that speaks the simple query protocol."""

    def __init__(self, directory):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(directory, ".s.PGSQL.5432"))
        self.answers = self.socket.makefile("rb")
        names = b"user\0%b\0database\0postgres\0\0" % USER.encode()
        self.socket.sendall(struct.pack("!II", len(names) + 8, 3 << 16) + names)
        self.wait_until_ready()

    def run(self, sql):
        text = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", len(text) + 4) + text)
        self.wait_until_ready()

    def wait_until_ready(self):
        kind = b""
        while kind != b"Z":
            kind, size = struct.unpack("!cI", self.answers.read(5))
            text = self.answers.read(size - 4)
            if kind == b"E":
                raise RuntimeError(text.decode(errors="replace"))


def ask_supplier(ms):
    time.sleep(ms / 1e3)


def order_item(session, supplier_ms):
    session.run("BEGIN")
    session.run("UPDATE stock SET ordered = ordered + 1 WHERE item = 1")
    ask_supplier(supplier_ms)
    session.run("COMMIT")


def run_slow_client(directory):
    session = Session(directory)
    began = ms_now()
    while ms_now() - began < NORMAL_MS:
        order_item(session, 1)
        time.sleep(0.02)
    order_item(session, SUPPLIER_MS)


def sell_item(session):
    began = ms_now()
    session.run("UPDATE stock SET sold = sold + 1 WHERE item = 1")
    return ms_now() - began


def run_cashier(directory):
    session = Session(directory)
    took = 0
    while took < LIMIT_MS:
        took = sell_item(session)
        time.sleep(0.005)
    incident("a sale took %.0f ms, limit %d ms" % (took, LIMIT_MS))


def run_clients(directory):
    session = Session(directory)
    session.run("CREATE TABLE stock (item int PRIMARY KEY, sold int, ordered int)")
    session.run("INSERT INTO stock VALUES (1, 0, 0)")
    cashier = start_process("cashier", run_cashier, directory)
    client = start_process("slow_client", run_slow_client, directory)
    os.waitpid(cashier, 0)
    os.kill(client, signal.SIGKILL)


def start_server(programs, directory):
    """Returns the server when it accepts connections. It refuses to run as root."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": directory}
    if os.geteuid() == 0:
        owner = pwd.getpwnam(USER)
        os.chown(directory, owner.pw_uid, owner.pw_gid)
        quiet |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    data = os.path.join(directory, "data")
    subprocess.run([programs + "/initdb", "-D", data, "-U", USER, "-A", "trust", "--no-sync",
                    "--locale=C"], check=True, **quiet)
    server = subprocess.Popen([programs + "/postgres", "-D", data, "-k", directory,
                               "-c", "listen_addresses=", "-c", "synchronous_commit=off"], **quiet)
    for _ in range(500):
        try:
            Session(directory)
            return server
        except (OSError, RuntimeError, struct.error):
            time.sleep(0.02)
    server.kill()
    sys.exit("PostgreSQL did not start")


def main():
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs:
        skip("there is no PostgreSQL")
    exit_on_sigterm()
    directory = tempfile.mkdtemp()
    server = None
    try:
        server = start_server(programs[-1], directory)
        run_clients(directory)
    finally:
        if server:
            server.send_signal(signal.SIGINT)  # ends the connections, too
            server.wait()
        shutil.rmtree(directory)


main()

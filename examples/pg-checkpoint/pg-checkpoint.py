# SPDX-License-Identifier: MIT
"""
A teller books into PostgreSQL, one transaction after the other: a commit waits until its part of the
write-ahead log is on the disk, some milliseconds. A history of 700 MB was loaded, and is only in the
server's buffers. Then an administrator runs CHECKPOINT. The checkpointer writes all of it and calls
fsync() for the files, and the commits of the teller wait behind that for the disk.
"""

import os
import signal
import stat
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from incident import exit_on_sigterm, incident, ms_now, start_process
from postgres import Session, with_server

NORMAL_MS = 1000
LIMIT_MS = 200
ROWS = 700000  # of a kilobyte each
OPTIONS = ("-c", "shared_buffers=1GB", "-c", "max_wal_size=8GB", "-c", "checkpoint_timeout=1h",
           "-c", "checkpoint_flush_after=0", "-c", "autovacuum=off")


def run_admin(directory):
    session = Session(directory)
    time.sleep(NORMAL_MS / 1e3)
    session.run("CHECKPOINT")


def book(session):
    began = ms_now()
    session.run("UPDATE account SET balance = balance + 1 WHERE id = 1")
    return ms_now() - began


def run_teller(directory):
    session = Session(directory)
    took = 0
    while took < LIMIT_MS:
        took = book(session)
        time.sleep(0.005)
    incident("a booking took %.0f ms, limit %d ms" % (took, LIMIT_MS))


def load_history(session):
    session.run("CREATE TABLE account (id int PRIMARY KEY, balance int)")
    session.run("INSERT INTO account VALUES (1, 0)")
    session.run("CREATE TABLE history (id int, text text)")
    session.run("INSERT INTO history SELECT i, repeat('x', 960) FROM generate_series(1, %d) i" % ROWS)


def run_clients(directory):
    load_history(Session(directory))
    teller = start_process("teller", run_teller, directory)
    admin = start_process("admin", run_admin, directory)
    os.waitpid(teller, 0)
    os.kill(admin, signal.SIGKILL)


def make_directory(parent):
    """In the parent, or on the disk of /var/tmp if the server's user cannot get there."""
    path = os.path.abspath(parent)
    while path != "/":
        if not os.stat(path).st_mode & stat.S_IXOTH:
            parent = "/var/tmp"
        path = os.path.dirname(path)
    return tempfile.mkdtemp(dir=parent)


def main():
    exit_on_sigterm()
    with_server(make_directory(sys.argv[1] if len(sys.argv) > 1 else "."), run_clients, *OPTIONS)


main()

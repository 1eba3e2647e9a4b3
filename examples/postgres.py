# SPDX-License-Identifier: MIT
"""A PostgreSQL server of its own for an example in Python, and connections to it."""

import glob
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

from incident import skip

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


def start_server(directory, *options):
    """Returns the server when it accepts connections. It refuses to run as root."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs:
        skip("there is no PostgreSQL")
    programs = programs[-1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": directory}
    if os.geteuid() == 0:
        owner = pwd.getpwnam(USER)
        os.chown(directory, owner.pw_uid, owner.pw_gid)
        quiet |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    data = os.path.join(directory, "data")
    subprocess.run([programs + "/initdb", "-D", data, "-U", USER, "-A", "trust", "--no-sync",
                    "--locale=C"], check=True, **quiet)
    server = subprocess.Popen([programs + "/postgres", "-D", data, "-k", directory,
                               "-c", "listen_addresses=", *options], **quiet)
    for _ in range(500):
        try:
            Session(directory)
            return server
        except (OSError, RuntimeError, struct.error):
            time.sleep(0.02)
    server.kill()
    sys.exit("PostgreSQL did not start")


def with_server(directory, run, *options):
    """Calls run(directory) while a server runs in the directory, which is removed at the end."""
    server = None
    try:
        server = start_server(directory, *options)
        run(directory)
    finally:
        if server:
            server.send_signal(signal.SIGINT)  # ends the connections, too
            server.wait()
        shutil.rmtree(directory)

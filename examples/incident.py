# SPDX-License-Identifier: MIT
"""incident.h for examples in Python: names of threads, time, child processes, and incident()."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
libc = ctypes.CDLL(None)


def ms_now():
    return time.monotonic() * 1e3


def name_me(name):
    libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def start_process(name, run, *args):
    """Runs run(*args) in a child process, which ends with its parent; returns its process ID."""
    pid = os.fork()
    if pid == 0:
        try:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            name_me(name)
            run(*args)
        finally:
            os._exit(0)
    return pid


def connect(path):
    """A connection to the unix socket of a server that is starting; it may take some seconds."""
    for _ in range(1000):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except OSError:
            connection.close()
            time.sleep(0.02)
    sys.exit("the server did not start")


def exit_on_sigterm():
    """Makes SIGTERM an exception, so that `finally` restores what was changed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def skip(reason):
    print(reason, file=sys.stderr)
    sys.exit(77)


def incident(reason):
    """Informs the user and asks the recorder for a dump; returns when it is written. With
    RINGBACK_ASK=outside or rule it only informs: run.sh or a rule of the recorder asks."""
    print(reason, file=sys.stderr, flush=True)
    if os.environ.get("RINGBACK_ASK", "program") == "program":
        subprocess.run([os.environ.get("RINGBACK", "ringback"), "trigger", "--reason", reason])
    else:
        time.sleep(1.5)

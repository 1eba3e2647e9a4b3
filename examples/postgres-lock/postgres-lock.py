# SPDX-License-Identifier: MIT
"""
A cashier books sales into a row of PostgreSQL, and a slow client changes the same row: it begins a
transaction, updates the row, asks a supplier, and commits. That takes a millisecond, until the
supplier does not answer for 700 ms. The row stays locked, and the cashier's backend waits for the
slow client's backend, which waits for its client.
"""

import os
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from incident import exit_on_sigterm, incident, ms_now, start_process
from postgres import Session, with_server

NORMAL_MS = 1000
SUPPLIER_MS = 700
LIMIT_MS = 200


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


def main():
    exit_on_sigterm()
    with_server(tempfile.mkdtemp(), run_clients, "-c", "synchronous_commit=off")


main()

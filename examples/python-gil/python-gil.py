# SPDX-License-Identifier: MIT
"""
A web service in Python: one thread answers requests, another imports price lists. Only the thread
that holds the interpreter lock runs Python code. It gives the lock up after 5 ms if others want it,
but not in the middle of a call into C: sorted() of a short list is a moment, of the list of all
suppliers more than half a second. A browser waits for its page meanwhile.
"""

import os
import random
import signal
import socket
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from incident import incident, ms_now, name_me, start_process

NORMAL_MS = 1000
LIMIT_MS = 100
MANY_PRICES = 600000


def sort_prices(prices):
    return sorted(prices)


def import_prices(prices):
    name_me("importer")
    began = ms_now()
    while ms_now() - began < NORMAL_MS:
        sort_prices(prices[:2000])
        time.sleep(0.05)
    sort_prices(prices)


def make_page():
    return sum(i * i for i in range(2000))


def serve_pages(listener, ready):
    prices = [random.random() for _ in range(MANY_PRICES)]
    os.write(ready, b"!")
    threading.Thread(target=import_prices, args=(prices,)).start()
    while listener.recv(1):
        make_page()
        listener.sendall(b"!")


def load_page(connection):
    began = ms_now()
    connection.sendall(b"?")
    connection.recv(1)
    return ms_now() - began


def browse(connection):
    took = 0
    while took < LIMIT_MS:
        took = load_page(connection)
        time.sleep(0.005)
    incident("a page took %.0f ms, limit %d ms" % (took, LIMIT_MS))


def main():
    connection, listener = socket.socketpair()
    is_ready, ready = os.pipe()
    service = start_process("web", serve_pages, listener, ready)
    os.read(is_ready, 1)
    browser = start_process("browser", browse, connection)
    os.waitpid(browser, 0)
    os.kill(service, signal.SIGKILL)
    os.waitpid(service, 0)


main()

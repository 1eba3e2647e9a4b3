#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether two dumps of the same time have the same scheduler events: one of compact records, one of perf.

usage: compact_same.py RINGBACK COMPACT.rbd PERF.rbd [CPU]

Compares each CPU's events of the time that both have, in their order: the same event of the same
threads with the same fields. An event that only the
compact dump has is none: perf drops what happens while it handles another event on that CPU, such as its
own wake-ups. Leaves out CPU, if it is given: one that came or
went, of which each recorder learns at its own time. Prints up to ten differences and, last, numbers; exit 1 when perf has more events that the other
does not have than that says to have lost.
"""
import collections, json, subprocess, sys

EVENTS = {"sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking", "sched:sched_wakeup_new", "sched:sched_migrate_task"}
NEAR_NS = 500000000 # the two handlers of an event run one after the other, late in a slow guest
EDGE_NS = 20000000
COMMS = ("comm", "prev_comm", "next_comm")


def events(ringback, dump):
    cpus = collections.defaultdict(list)
    p = subprocess.Popen([ringback, "script", "--json", dump], stdout=subprocess.PIPE, text=True)
    for line in p.stdout:
        e = json.loads(line)
        if e["event"] in EVENTS:
            cpus[e["cpu"]].append((int(e["time"]), e["event"], e["tid"], e["fields"]))
    p.wait()
    return cpus


shown = 0


def tell(text):
    global shown
    shown += 1
    if shown <= 10:
        print(text)


def key(e):
    return {k: v for k, v in e[3].items() if k not in COMMS}


def state_differs(p, q):
    """A zombie becomes dead when its parent waits for it, maybe between the two programs."""
    a, b = key(p), key(q)
    return {a.pop("prev_state", 0), b.pop("prev_state", 0)} == {16, 32} and a == b


def main():
    ringback, a, b = sys.argv[1:4]
    left_out = [int(c) for c in sys.argv[4:]]
    info = json.loads(subprocess.run([ringback, "info", "--json", a], capture_output=True, text=True).stdout)
    lost = sum(r["lost"] for r in info["rings"])
    a, b = events(ringback, a), events(ringback, b)
    same = missing = only = states = names = 0
    apart = []
    for cpu in sorted(set(a) | set(b)):
        x, y = a[cpu], b[cpu]
        if not x or not y or cpu in left_out:
            continue
        # The first and last of each may be in one of both only.
        first, last = max(x[0][0], y[0][0]) + EDGE_NS, min(x[-1][0], y[-1][0]) - EDGE_NS
        x = [e for e in x if first <= e[0] <= last]
        y = [e for e in y if first <= e[0] <= last]
        if abs(len(x) - len(y)) > 2:
            print(f"CPU {cpu}: {len(x)} events, {len(y)} of perf")
        i = j = 0
        while i < len(x) or j < len(y):
            p, q = x[i] if i < len(x) else None, y[j] if j < len(y) else None
            if p and q and p[1:3] == q[1:3] and key(p) == key(q) and abs(p[0] - q[0]) < NEAR_NS:
                same += 1
                apart.append(abs(p[0] - q[0]))
                if any(p[3].get(c) != q[3].get(c) for c in COMMS):
                    names += 1
                    tell(f"CPU {cpu}: name: {p}, perf {q}")
                i, j = i + 1, j + 1
            elif q and p and p[1:3] == q[1:3] and abs(p[0] - q[0]) < NEAR_NS and state_differs(p, q):
                states += 1
                i, j = i + 1, j + 1
            elif not q or p and p[0] < q[0]:
                only += 1
                tell(f"CPU {cpu}: only compact: {p}")
                i += 1
            else:
                missing += 1
                tell(f"CPU {cpu}: only perf: {q}")
                j += 1
    print(f"{same} same, {missing} only perf ({lost} lost), {only} only compact, {states} with another state of a thread that ends, "
          f"{names} with another name, times {sorted(apart)[len(apart) // 2] if apart else 0} ns apart")
    return 1 if missing > lost or not same else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the verdict of `ringback why` to the events of the dump, as `ringback script --json` prints them.

usage: facts.py RINGBACK DUMP

A quota: a control group that has one was throttled, and the thread is in it. A crash: a fatal signal
took effect on that thread, or it was chosen by the OOM killer. Who had the CPU that somebody waited
for: switches to it are in the time that was looked at. Who ended a sleep, or holds what is waited for:
a chain of wake-ups leads from it to the thread or one of its process. Percentages are not above 100, and no thread
waited longer than the time that was looked at. Prints the verdict; exit 1 with what is not so.
"""

import json
import re
import subprocess
import sys

FATAL = {3, 4, 5, 6, 7, 8, 11, 24, 25, 31}
HAD_CPU = ("cpu-contention", "priority-inversion")
WOKE = ("lock-convoy", "dead-peer", "long-task")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def fail(why, text):
    print(f"{text}\nnot proven: {why}")
    sys.exit(1)


def ready_time(events, tid, begin, end):
    """How long the thread could run and did not, by its switches and wake-ups."""
    since, total = None, 0
    for e in events:
        fields = e.get("fields")
        if e["event"] == "sched:sched_waking" and fields["pid"] == tid and since is None:
            since = int(e["t"])
        elif e["event"] == "sched:sched_switch" and fields["prev_pid"] == tid:
            since = int(e["t"]) if fields["prev_state"] in (0, 256) else None
        elif e["event"] == "sched:sched_switch" and fields["next_pid"] == tid and since is not None:
            total += max(0, min(int(e["t"]), end) - max(since, begin))
            since = None
    return total


def main():
    ringback, dump = sys.argv[1:3]
    why = json.loads(run(ringback, "why", "--no-history", "--json", dump))
    text = why["verdict"]
    kind = why["kind"]
    print(f"{kind}: {text}")
    for percent in re.findall(r"([0-9.]+) %", text):
        if float(percent) > 100.5:
            fail(f"{percent} %", text)
    if kind not in ("crash", "cpu-quota", "overload") + HAD_CPU + WOKE:
        return
    thread, culprit = why.get("thread"), why.get("culprit")
    events = [json.loads(line) for line in run(ringback, "script", "--json", dump).splitlines()]
    looked = [e for e in events if why["from"] <= int(e["t"]) <= why["to"]]
    if kind == "cpu-quota":
        groups = json.loads(run(ringback, "info", "--json", dump)).get("cgroups", [])
        if not any(g["quota_ns"] and g["throttled"] and (thread["pid"] in g["pids"] or g["pids"] == []) for g in groups):
            fail("no control group of it was throttled", text)
    elif kind == "crash":
        tids = {thread["tid"], culprit["tid"]} if culprit else {thread["tid"]}
        if not any(
            (e["event"] == "signal:signal_deliver" and e["tid"] in tids and e["fields"]["sig"] in FATAL)
            or (e["event"] == "signal:signal_generate" and e["fields"]["pid"] in tids and e["fields"]["sig"] in FATAL)
            or (e["event"] == "oom:mark_victim" and e["fields"]["pid"] in tids)
            for e in events
        ):
            fail("no fatal signal of it", text)
    elif kind == "overload":
        share = float(re.search(r"waited for a CPU ([0-9.]+) %", text).group(1))
        waited = 100 * ready_time(events, thread["tid"], int(why["from"]), int(why["to"])) / (int(why["to"]) - int(why["from"]))
        if abs(waited - share) > 5:
            fail(f"its switches and wake-ups make {waited:.0f} %", text)
    elif kind in HAD_CPU and culprit:
        if not any(
            e["event"] == "sched:sched_switch" and culprit["tid"] in (e["fields"]["next_pid"], e["fields"]["prev_pid"])
            for e in looked
        ):
            fail("no switch to the culprit", text)
    elif culprit and thread:
        wakers = {e["tid"] for e in events if e["pid"] == thread["pid"]} | {thread["tid"]}
        pairs = {(e["tid"], e["fields"]["pid"]) for e in events if e["event"] == "sched:sched_waking"}
        more = wakers
        while more:
            more = {by for by, woken in pairs if woken in wakers} - wakers
            wakers = wakers | more
        if culprit["tid"] not in wakers:
            fail("no chain of wake-ups leads from the culprit to it", text)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the blame matrix of `why --json` with waits for a CPU summed from the events.

usage: ringback script --json DUMP | waits_same.py WHY.json GROUP=TID,TID.. GROUP=TID,..

GROUP is a control group as in the dump, with all its threads. For each, sums in the analyzed time, from
sched_switch and sched_waking alone, how long its threads waited for a CPU, and which group's threads
ran there meanwhile. Prints a line for each number: "GROUP WHAT NS BLAME_NS DOUBT_NS", the sum and what the
matrix has. The kernel does not record every switch; waits that end with one that is missing are not summed,
and the last number of a line, DOUBT_NS, is the time in which another was missing.
"""

import bisect
import json
import sys

NEAR_NS = 200_000
PREEMPTED = 0x100  # in prev_state
SWITCH, WAKING = "sched:sched_switch", "sched:sched_waking"


def collect(lines):
    """Runs by CPU, (begin, tid) in the order of time, tid None if the switch at its end is another
    thread's; waits, (tid, CPU, begin, end)."""
    runs, waits, ready, asleep, woken = {}, [], {}, set(), {}
    for line in lines:
        e = json.loads(line)
        if e["event"] not in (SWITCH, WAKING):
            continue
        time, f = int(e["t"]), e["fields"]
        if e["event"] == WAKING:
            if f["pid"] in asleep:
                asleep.discard(f["pid"])
                ready[f["pid"]] = (time, f["target_cpu"])
            else:
                woken[f["pid"]] = time
            continue
        cpu, old, new = e["cpu"], f["prev_pid"], f["next_pid"]
        had = runs.setdefault(cpu, [])
        if had and had[-1][1] != old:
            had[-1] = (had[-1][0], None)
        had.append((time, new))
        if new in ready:
            since, queue = ready.pop(new)
            waits.append((new, queue, since, time))
        asleep.discard(new)
        ready.pop(old, None)
        if not f["prev_state"] or f["prev_state"] & PREEMPTED:
            ready[old] = (time, cpu)
        elif time - woken.pop(old, -sys.maxsize) < NEAR_NS:
            ready[old] = (time, cpu)  # woken just before it slept
        else:
            asleep.add(old)
    for tid, (since, queue) in ready.items():
        waits.append((tid, queue, since, sys.maxsize))
    return runs, waits


def divide(waits, runs, group_of, begin, end):
    """{group: {group that ran, or "rest", "doubt", "all": ns}}"""
    sums = {}
    begins = {cpu: [begin for begin, _ in had] for cpu, had in runs.items()}
    for tid, cpu, since, until in waits:
        group, since, until = group_of.get(tid), max(since, begin), min(until, end)
        if group is None or since >= until:
            continue
        row = sums.setdefault(group, {})
        row["all"] = row.get("all", 0) + until - since
        had = runs.get(cpu, [])
        first = max(bisect.bisect_right(begins.get(cpu, []), since) - 1, 0)
        told = 0
        for i in range(first, len(had)):
            ran_from, ran = had[i]
            if ran_from >= until:
                break
            ran_to = had[i + 1][0] if i + 1 < len(had) else end
            ns = min(ran_to, until) - max(ran_from, since)
            if ns > 0 and ran is None:
                row["doubt"] = row.get("doubt", 0) + ns
            if ns > 0 and ran in group_of:
                row[group_of[ran]] = row.get(group_of[ran], 0) + ns
                told += ns
        row["rest"] = row.get("rest", 0) + until - since - told
    return sums


def matrix(why, groups):
    out = {}
    for row in why["blame"]:
        if row["cgroup"] not in groups:
            continue
        others = {o["cgroup"]: o["ns"] for o in row["others"]}
        named = {g: others.pop(g, 0) for g in groups}
        named[row["cgroup"]] = row["own_ns"]
        rest = sum(others.values()) + row["quota_ns"] + row["idle_ns"] + row["unknown_ns"]
        out[row["cgroup"]] = {**named, "all": row["waited_ns"], "rest": rest}
    return out


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        why = json.load(f)
    group_of = {}
    for arg in sys.argv[2:]:
        group, tids = arg.split("=")
        group_of.update({int(tid): group for tid in tids.split(",")})
    groups = set(group_of.values())
    runs, waits = collect(sys.stdin)
    sums = divide(waits, runs, group_of, int(why["from"]), int(why["to"]))
    blame = matrix(why, groups)
    for group in sorted(groups):
        for what in ["all", "rest", *sorted(groups)]:
            row = sums.get(group, {})
            doubt = 0 if what == "all" else row.get("doubt", 0)
            print(group, what, row.get(what, 0), blame.get(group, {}).get(what, 0), doubt)


if __name__ == "__main__":
    main()

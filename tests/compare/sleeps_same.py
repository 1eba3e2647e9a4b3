#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the places of sleep-stacks with the stacks of the same sleeps, recorded in full.

usage: ringback script --json DUMP | sleeps_same.py FROM TO

FROM and TO, ns from the trigger: all rings of sleep-stacks were on.

The dump has sched:sched_switch with stacks and sleep-stacks. Each sleep's place, which is that of the
thread's last sample of sleep-stacks, must be its own stack from the system call outward, as far as it has
names. Prints
"SLEEPS SAMPLES OTHER UNKNOWN": sleeps compared, samples that it took, sleeps whose place is another,
and such as have none. Compared are those from when on each thread must have a sample.
"""

import bisect
import json
import sys

NEAR_NS = 200_000
RENEW_NS = 100_000_000
DEEP = 90
SYSCALLS = ("__x64_sys_", "__arm64_sys_")


def place(event):
    """The functions from the system call on, or all from schedule() on."""
    # What follows a frame pointer that is none changes all the time.
    names = [frame["function"] for frame in event.get("chain", []) if frame.get("function")]
    first = next((i for i, name in enumerate(names) if name.startswith(SYSCALLS)), None)
    if first is None:
        first = names.index("schedule") if "schedule" in names else 0
    return names[first:]


def same(a, b):
    """The kernel cuts deep stacks, and the sample's has the program's own frames besides."""
    return a == b if max(len(a), len(b)) < DEEP else a[:DEEP] == b[:DEEP]


def main():
    begin, end = int(sys.argv[1]), int(sys.argv[2])
    samples, sleeps, back = {}, [], {}  # back: when a thread is heard of next
    for line in sys.stdin:
        e = json.loads(line)
        if e["event"] == "sleep-stacks" and e["raw"].startswith("01000000"):
            samples.setdefault(e["tid"], []).append((int(e["t"]), place(e)))
        elif e["event"] == "sched:sched_switch" and e["fields"]["prev_state"] & 0x4F and e["fields"]["prev_pid"]:
            sleeps.append((int(e["t"]), e["fields"]["prev_pid"], place(e)))
        if e["event"] == "sched:sched_switch":
            back.setdefault(e["fields"]["next_pid"], []).append(int(e["t"]))
            back.setdefault(e["fields"]["prev_pid"], []).append(int(e["t"]))
    # The programs are attached after the rings are on.
    begin = max(begin, min((had[0][0] for had in samples.values()), default=end))
    sleeps = [sleep for sleep in sleeps if begin + RENEW_NS < sleep[0] <= end]
    other = unknown = 0
    for time, tid, own in sleeps:
        had, runs = samples.get(tid, []), back.get(tid, [])
        again = bisect.bisect_right(runs, time)
        until = runs[again] if again < len(runs) else sys.maxsize
        at = bisect.bisect_right(had, (until, ["\x7f"])) - 1
        if at < 0 or had[at][0] < begin or time - had[at][0] > RENEW_NS + NEAR_NS:
            unknown += 1
        elif not same(had[at][1], own):
            other += 1
            if other <= 3:
                print(f"thread {tid}: {' < '.join(had[at][1])}\n  for {' < '.join(own)}", file=sys.stderr)
    print(len(sleeps), sum(len(s) for s in samples.values()), other, unknown)


if __name__ == "__main__":
    main()

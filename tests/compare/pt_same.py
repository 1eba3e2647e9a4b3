#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what perf decodes of an exported Intel PT trace with what was seen when it was stepped.

	pt_same.py PERF.txt [end:|part:]LOG...
		PERF.txt: perf script --itrace=bcre -F tid,time,ip,addr,flags,event --ns
		LOG: of tool_pt step

Of each program every call, return, way into the kernel and back has to be there, in order, with the
same addresses; times may differ as far as the trace tells them, from packet to packet. Of an end: only
its end is there, from some PSB on, where perf says once more that it begins; of a part: any piece.
What differs goes to stdout, the first of each program; a summary too. Exit 1 when something does.
"""
import re
import sys

BRANCH = re.compile(r"\s*(\d+)\s+(\d+)\.(\d+):\s+branches:\S*\s+(\S.*?)\s+([0-9a-f]+) =>\s+([0-9a-f]+)\s*$")
KINDS = {"call": "call", "return": "return", "tr strt": "on"}
SLACK_NS = 20000


def perf_steps(path):
    """The steps of each thread, and what perf could not decode."""
    steps, errors = {}, []
    for line in open(path, errors="replace"):
        m = BRANCH.match(line)
        if m:
            kind = "off" if m[4].startswith("tr end") else KINDS.get(m[4], m[4])
            ns = int(m[2]) * 1000000000 + int(m[3])
            steps.setdefault(int(m[1]), []).append((kind, int(m[5], 16), int(m[6], 16), ns))
        elif " instruction trace error " in line:
            errors.append(line.strip())
    return steps, errors


class Log:
    def __init__(self, path):
        moments = []
        self.steps = []
        for line in open(path):
            words = line.split()
            if words[1] == "program":
                self.program = words[2]
            elif words[1] == "task":
                self.tid = int(words[3])
            elif words[1] == "moment":
                moments.append((int(words[2]), int(words[3])))
            elif words[0] != "#":
                self.steps.append((words[0], int(words[1], 16), int(words[2], 16), int(words[3])))
        # The clock: the first moment and the last.
        (tsc, ns), (last_tsc, last_ns) = moments[0], moments[3]
        self.steps = [(k, a, b, ns + (t - tsc) * (last_ns - ns) // (last_tsc - tsc)) for k, a, b, t in self.steps]


def place(want, got, part):
    """Where `got` is in `want`: at its end, or anywhere."""
    bare = [s[:3] for s in want]
    if not part:
        return len(want) - len(got)
    for i in range(len(want) - len(got) + 1):
        if bare[i] == got[0][:3] and bare[i : i + len(got)] == [s[:3] for s in got]:
            return i
    return -1


def differs(log, got, how):
    """What is wrong, or nothing; and the largest difference of times."""
    want = log.steps
    if how:
        if got and got[0][0] == "on":
            got = got[1:]
        at = place(want, got, how == "part") if got else -1
        if at < 0:
            return "nothing of it that belongs together", 0
        want = want[at : at + len(got)]
    for i, (w, g) in enumerate(zip(want, got)):
        if w[:3] != g[:3]:
            return "step %d: %s %x %x, perf: %s %x %x" % ((i,) + w[:3] + g[:3]), 0
    if len(want) != len(got):
        return "%d steps, perf: %d" % (len(want), len(got)), 0
    apart = max(abs(w[3] - g[3]) for w, g in zip(want, got))
    return ("times are %d ns apart" % apart if apart > SLACK_NS else ""), apart


def main():
    got, errors = perf_steps(sys.argv[1])
    bad = 0
    for line in errors[:3]:
        print(line)
    for arg in sys.argv[2:]:
        how, _, path = arg.rpartition(":")
        log = Log(path)
        its = got.pop(log.tid, [])
        what, apart = differs(log, its, how)
        bad += bool(what)
        print("%s: %d of %d steps, at most %d ns apart. %s" % (log.program, len(its), len(log.steps), apart, what))
    for tid in got:
        print("thread %d has steps, and no log" % tid)
    return 1 if bad or errors or got else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what perf prints of an export with what ringback script prints of the dump.

	perf_same.py script RINGBACK.json PERF.txt
		PERF.txt: perf script -F comm,pid,tid,cpu,time,event,ip,sym,symoff,dso --ns --no-inline
	perf_same.py report RINGBACK.json PERF.txt
		PERF.txt: perf report --stdio -g none --no-children -n -s comm,pid -w 0,0,64,0 -t '|'
	perf_same.py fields RINGBACK.txt PERF.txt
		PERF.txt: perf script -F time,event,trace --ns; RINGBACK.txt: without --json

script: samples are taken in the order of time; of each, time, CPU, pid, tid, name, event and the
places of its call chain have to be the same, and how many there are of each event. report: the
number of samples of each event, name and thread. fields: the text of each tracepoint. Differences
go to stdout, the first ones of each kind; a summary too. Exit 1 when there is one.

What is no difference:
- a thread that had no number any more when it switched for the last time: -1 there, and here the
  one that the tracepoint itself tells
- the kernel, a module or what is no file, under another name
- user stacks, which perf unwinds: the kernel's part of the chain is compared
- an address in no code may be in a file's data, which exports with user stacks mention
- a few addresses of processes that have just become another program: perf keeps the mappings of
  before, and ringback may have them for a moment longer than perf; "around an exec" counts them
- names of functions: one of several at the same address; of a return address behind the last
  instruction of a function that never comes back, which is perf's next function and our last; and
  those that only one side knows: perf those of files that are still there, ringback those of the
  dump. "names" in the summary counts them, "only perf" ones are shown
- a whole chain that perf gives up since an address in it is no address (-1, where a program keeps
  something else in its frame pointer): their number is "discarded" in the summary, to be compared
  with that of such chains
"""
import collections
import json
import os
import re
import sys
import time

SAMPLE = re.compile(
    r"^ *(?P<comm>.*?) +(?P<pid>-?\d+)/(?P<tid>-?\d+) +\[(?P<cpu>-?\d+)\] +"
    r"(?P<s>\d+)\.(?P<ns>\d{9}): +(?P<event>\S+): *(?P<rest>.*)$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \(([/\[].*)\)$")
MOST_SHOWN = 5
DISCARDED = "discarded"
EXEC = "around an exec"
MOST_EXEC = 1000  # one frame in so many
ANOTHER = "another name"
KERNEL = 1 << 63


class Differences:
    def __init__(self):
        self.nr = collections.Counter()

    def add(self, kind, ours, its):
        self.nr[kind] += 1
        if self.nr[kind] <= MOST_SHOWN:
            print(f"{kind}:\n  ringback {ours}\n  perf     {its}")

    def end(self, what):
        print(f"{what}: {dict(self.nr) or 'no difference'}")
        sys.exit(1 if self.nr else 0)


def lines_of(path):
    with open(path, errors="replace") as f:
        for line in f:
            if line.strip():
                yield line.rstrip("\n")


# ---- reading ----

def frame(text):
    m = FRAME.match("\t" + text.strip())
    if not m:
        raise ValueError("no frame: " + text)
    sym, _, off = m.group(2).rpartition("+0x")
    try:
        return int(m.group(1), 16), m.group(3), sym or m.group(2), int(off, 16)
    except ValueError:
        return int(m.group(1), 16), m.group(3), m.group(2), None


def read_perf(path):
    samples = []
    for line in lines_of(path):
        if line.startswith("\t"):
            samples[-1]["chain"].append(frame(line))
            continue
        m = SAMPLE.match(line)
        if not m:
            raise ValueError("no sample: " + line)
        samples.append({
            "time": int(m["s"]) * 10**9 + int(m["ns"]), "cpu": int(m["cpu"]),
            "pid": int(m["pid"]), "tid": int(m["tid"]), "comm": m["comm"],
            "event": m["event"], "chain": [frame(m["rest"])] if m["rest"].strip() else [],
        })
    return samples


def read_ringback(path):
    samples = []
    for line in lines_of(path):
        o = json.loads(line)
        if o["event"].startswith("PERF_RECORD_"):
            continue
        o["time"] = int(o["time"])
        if o["tid"] is None:
            o["tid"] = o["pid"] = -1
        if o["comm"] is None:
            o["comm"] = f":{o['tid']}"
        samples.append(o)
    return samples


# ---- script ----

def place(f):
    """Where a frame of ours is, as perf says it: in its file, or the address itself."""
    if "off" not in f or f.get("dso", "").startswith("//anon"):
        return int(f["ip"], 16), f.get("dso") or "[unknown]"
    return int(f["off"], 16), f["dso"]


def same_dso(ours, its):
    # What is no file has its JIT map's name in perf.
    if ours.startswith("//anon") or ours.startswith("["):
        return its == ours or its.startswith("/tmp/perf-") or its.startswith("[")
    return its == ours


def chain_differs(ours, its, has_data):
    chain = [place(f) for f in ours.get("chain", [])]
    if not chain and "at" in ours:  # a lone address perf prints as it is
        chain = [(int(ours["at"]["ip"], 16), place(ours["at"])[1])]
    if not chain:
        return None  # perf says 0 of what was recorded without a place
    if "user_stack" in ours:
        chain = [f for f in chain if f[0] & KERNEL]
    elif not its["chain"]:
        return DISCARDED
    elif len(chain) != len(its["chain"]):
        return "length of the chain"
    for (addr, dso), (its_addr, its_dso, _, _) in zip(chain, its["chain"]):
        if has_data and dso == "[unknown]" and not addr & KERNEL and its_dso.startswith("/"):
            continue
        if not addr & KERNEL and (dso == "[unknown]") != (its_dso == "[unknown]") and \
                (dso + its_dso).replace("[unknown]", "").startswith("/"):
            return EXEC
        if addr != its_addr:
            return "address"
        if not same_dso(dso, its_dso):
            return "file"
    return None


def just_made(dso):
    """A file that is built anew while it runs has other names by now."""
    try:
        return os.stat(dso).st_ctime > time.time() - 300
    except (OSError, TypeError, ValueError):
        return False


def name_differs(f, its):
    """What is between our name of a frame and perf's; names are compared without arguments."""
    _, _, sym, off = its
    ours = f.get("function")
    bare = (sym or "").split("(")[0].split("@")[0]

    if off == 0 and (ours or "").split("(")[0].split("@")[0] != bare:
        return "return address behind the end"
    if ours is None or off is None:
        return ("neither" if off is None else "only perf") if ours is None else "only ringback"
    if ours.split("(")[0].split("@")[0] == bare:
        return "same"
    if f.get("offset") == off:
        return "same under another of its names"
    return "of a file just made" if just_made(f.get("dso")) else ANOTHER


def is_leaving(a):
    return a["event"] == "sched:sched_switch" and a["fields"]["prev_pid"] == a["tid"]


def sample_differs(a, b, has_data):
    nameless = b["tid"] == -1 and (a["tid"] == -1 or is_leaving(a))
    for k in ("time", "cpu", "tid", "event", "comm", "pid"):
        if a[k] != b[k] and not (nameless and k in ("tid", "comm", "pid")):
            return k
    return chain_differs(a, b, has_data)


def counts(samples, *keys):
    return collections.Counter(tuple(s[k] for k in keys) for s in samples)


def script(ours, its):
    ours, its = read_ringback(ours), read_perf(its)
    found = Differences()
    frames = discarded = execs = 0
    names, odd = collections.Counter(), collections.Counter()
    has_data = any("user_stack" in s for s in ours)

    def key(s):
        return s["time"], s["cpu"], s["tid"], s["event"]

    if counts(ours, "event") != counts(its, "event"):
        found.add("numbers of samples", counts(ours, "event"), counts(its, "event"))
    for a, b in zip(sorted(ours, key=key), sorted(its, key=key)):
        kind = sample_differs(a, b, has_data)
        frames += len(a.get("chain", []))
        if not kind and "user_stack" not in a:
            for f, g in zip(a.get("chain", []), b["chain"]):
                name = name_differs(f, g)
                names[name] += 1
                if name in (ANOTHER, "only perf"):
                    odd[(name, f.get("dso"), f.get("function"), g[2])] += 1
                if name == ANOTHER:
                    found.add(name, f, g)
        discarded += kind == DISCARDED
        execs += kind == EXEC
        if kind and kind not in (DISCARDED, EXEC):
            found.add(kind, a, b)
    for (name, *what), nr in odd.most_common(MOST_SHOWN):
        print(f"{nr} names, {name}: {what}")
    print(f"names: {dict(names)}")
    if execs * MOST_EXEC > frames:
        found.add(EXEC, f"{execs} of {frames} frames", "at most one in a thousand")
    found.end(f"{len(ours)} samples of {len(counts(ours, 'event'))} events, {frames} frames, "
              f"{discarded} discarded, {execs} {EXEC}")


# ---- report ----

def read_report(path):
    nr, event = collections.Counter(), None
    for line in lines_of(path):
        m = re.match(r"^# Samples: \S+ +of event '(.*)'$", line)
        if m:
            event = m.group(1)
        if line.startswith("#"):
            continue
        _, samples, comm, who = (v.strip() for v in line.split("|"))
        nr[(event, comm, int(who.split(":")[0]))] += int(samples)
    return nr


def report(ours, its):
    ours = counts(read_ringback(ours), "event", "comm", "tid")
    its = read_report(its)
    found = Differences()

    # The thread of exit records is taken from perf script.
    leaving = ("sched:sched_switch", ":-1", -1)
    for k in [k for k in ours if k[0] == leaving[0] and ours[k] > its[k]]:
        nr = min(ours[k] - its[k], max(its[leaving] - ours[leaving], 0))
        ours[k] -= nr
        ours[leaving] += nr
    for k in sorted(ours.keys() | its.keys()):
        if ours[k] != its[k]:
            found.add("samples of " + " ".join(map(str, k)), ours[k], its[k])
    found.end(f"{len(ours)} rows of {sum(ours.values())} samples")


# ---- fields ----

def read_fields(path, pattern):
    texts = []
    for line in lines_of(path):
        m = pattern.match(line)
        # What is no tracepoint says other things.
        if m and ":" in m["event"] and not m["event"].startswith("PERF_RECORD_"):
            texts.append((m["event"], " ".join(m["text"].split())))
    return texts


def fields(ours, its):
    ours = read_fields(ours, re.compile(
        r"^.* \[[\d-]+\] +[+-]\d+\.\d{9}  (?P<event>[\w-]+:[\w-]+): (?P<text>.*)$"))
    its = read_fields(its, re.compile(
        r"^ *\d+\.\d{9}: +(?P<event>[\w-]+:[\w-]+): (?P<text>.*)$"))
    found = Differences()

    if len(ours) != len(its):
        found.add("numbers of tracepoints", len(ours), len(its))
    for a, b in zip(sorted(ours), sorted(its)):
        if a != b:
            found.add("text", a, b)
    found.end(f"{len(ours)} tracepoints")


{"script": script, "report": report, "fields": fields}[sys.argv[1]](sys.argv[2], sys.argv[3])

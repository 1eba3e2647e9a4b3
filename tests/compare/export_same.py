#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds what `ringback export` writes against what `ringback script --json` prints of the same dump.

usage: export_same.py folded|pprof|pftrace JSON INFO EXPORT
       export_same.py ndjson JSON INFO EXPORT SCHEMA

JSON is of script --json, INFO of info --json. The bytes of protobuf are taken apart here, by the
numbers that the formats' own projects document, and by no code of ringback's. Prints what there is
to compare; exit 1 with what differs.
"""

import collections
import gzip
import json
import os
import subprocess
import sys

SCHED = ("sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking", "sched:sched_wakeup_new")


def die(text):
    print(text)
    sys.exit(1)


def same(what, mine, its):
    if mine != its:
        if isinstance(mine, collections.Counter):
            die("%s: only in script: %s; only in the export: %s" % (
                what, list((mine - its).items())[:3], list((its - mine).items())[:3]))
        die("%s: %r in script, %r in the export" % (what, mine, its))


# ---- what script says ----

def place(frame):
    """What a frame is called, as its readers know it, without what an address may differ by."""
    name = frame.get("function")
    if name is None and "off" in frame:
        return os.path.basename(frame["dso"]) + "+"
    return "0x" if name is None else name


def stack(event):
    """Innermost first: (name, kernel or inlined)."""
    frames = []
    for f in event.get("chain") or [event["at"]]:
        for inlined in f.get("inlined", []):
            frames.append((inlined["function"], "i"))
        kernel = "off" not in f and f.get("dso", "").startswith("[")
        frames.append((place(f), "k" if kernel else ""))
    return frames


def whom(event):
    """The thread; of one that is just going away the kernel tells the process only."""
    return event["pid"] if event["tid"] is None else event["tid"]


def is_sample(event):
    return ":" not in event["event"] and ("chain" in event or "at" in event) and "fields" not in event


def plain(name):
    """A name without its address, where it is one."""
    at = name.find("+0x")
    if at >= 0 and all(c in "0123456789abcdef" for c in name[at + 3:]):
        return name[:at + 1]
    return "0x" if name.startswith("0x") else name


# ---- protobuf ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message: whole numbers as they are, everything else as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            n, at = varint(data, at)
            if at + n > len(data):
                die("a field reaches past the end of its message")
            value, at = data[at:at + n], at + n
        else:
            die("there is a field of wire type %d" % (key & 7))
        yield key >> 3, value


def message(data):
    out = collections.defaultdict(list)
    for number, value in fields(data):
        out[number].append(value)
    return out


def packed(values):
    out = []
    for v in values:
        if isinstance(v, int):
            out.append(v)
            continue
        at = 0
        while at < len(v):
            n, at = varint(v, at)
            out.append(n)
    return out


def one(m, number, default=0):
    return m[number][0] if m[number] else default


# ---- each format ----

def folded(events, info, path):
    mine, its = collections.Counter(), collections.Counter()
    for e in events:
        if is_sample(e):
            names = [e["comm"] or "?"]
            for name, kind in reversed(stack(e)):
                names.append(name.replace(";", ":") + ("_[%s]" % kind if kind else ""))
            mine[";".join(names)] += 1
    for line in open(path, encoding="utf-8"):
        text, count = line.rstrip("\n").rsplit(" ", 1)
        names = []
        for name in text.split(";"):
            end = name[-4:] if name[-4:] in ("_[k]", "_[i]") else ""
            names.append((plain(name[:len(name) - len(end)]) + end) if names else name)
        its[";".join(names)] += int(count)
    same("stacks", mine, its)
    print("%d samples in %d stacks" % (sum(mine.values()), len(mine)))


def pprof(events, info, path):
    # profile.proto: sample_type 1, sample 2, mapping 3, location 4, function 5, string_table 6
    m = message(gzip.open(path).read())
    texts = [t.decode("utf-8") for t in m[6]]
    if texts[0] != "":
        die("the first text of pprof is not empty")
    types = [(texts[one(t, 1)], texts[one(t, 2)]) for t in map(message, m[1])]
    same("sample types", [("samples", "count"), ("cpu", "nanoseconds")], types)
    mappings = {one(x, 1): (texts[one(x, 5)], one(x, 2)) for x in map(message, m[3])}
    functions = {one(x, 1): texts[one(x, 2)] for x in map(message, m[5])}
    locations = {}
    for x in map(message, m[4]):
        lines = [message(line) for line in x[4]]
        image, start = mappings[one(x, 2)]
        names = [functions[one(line, 1)] for line in lines]
        # A map may be [vdso] or [uprobes]; the kernel's addresses have the highest bit.
        nowhere = start >> 63 or image == "[unknown]"
        locations[one(x, 1)] = names or [None if nowhere else os.path.basename(image) + "+"]
    its, ns = collections.Counter(), 0
    for x in map(message, m[2]):
        values = packed(x[2])
        labels = {texts[one(n, 1)]: texts[one(n, 2)] or one(n, 3) for n in map(message, x[3])}
        names = [name for i in packed(x[1]) for name in locations[i]]
        key = (labels["thread"], labels["tid"] or 0, labels["pid"] or 0)
        its[key + tuple(names)] += values[0]
        ns += values[1]
    mine = collections.Counter()
    for e in events:
        if is_sample(e):
            names = [None if n == "0x" else n for n, _ in stack(e)]
            mine[(e["comm"] or 0, whom(e), e["pid"]) + tuple(names)] += 1
    same("samples", mine, its)
    if not ns:
        die("no sample has time")
    print("%d samples in %d stacks, %d ms" % (sum(its.values()), len(its), ns / 1e6))


def pftrace(events, info, path):
    boot = int(info["host"]["boot_minus_clock"])
    zero = int(info["trigger"]["time"])
    tables = {n: {} for n in (5, 6, 7, 16, 17, 19)}
    tracks, sched, stacks, instants = {}, collections.Counter(), collections.Counter(), collections.Counter()
    threads, rings, triggers, first = {}, 0, [], True
    for number, data in fields(open(path, "rb").read()):
        if number != 1:
            die("a trace has packets and nothing else")
        p = message(data)
        same("sequence", 1, one(p, 10))
        same("sequence_flags", 1 if first else 2, one(p, 13))
        first = False
        ns = one(p, 8) - boot
        for x in map(message, p[2]):  # ProcessTree
            for t in map(message, x[2]):
                threads[one(t, 1)] = one(t, 2).decode()
        for x in map(message, p[6]):  # ClockSnapshot
            clocks = {one(c, 1): one(c, 2) for c in map(message, x[1])}
            same("clocks", {3: zero, 6: zero + boot, 1: zero + int(info["host"]["real_minus_clock"])}, clocks)
        for x in map(message, p[12]):  # InternedData, before what refers to it
            for n, table in tables.items():
                for entry in map(message, x[n]):
                    if one(entry, 1) in table or not one(entry, 1):
                        die("an interned number is given twice, or is 0")
                    table[one(entry, 1)] = entry
        for x in map(message, p[60]):  # TrackDescriptor
            tracks[one(x, 1)] = one(message(one(x, 4, b"")), 2, None), one(x, 2, b"").decode()
        for x in map(message, p[1]):  # FtraceEventBundle
            if not x[1]:
                die("a bundle has no CPU")
            for e in map(message, x[2]):
                take_sched(sched, one(x, 1), one(e, 1) - boot, one(e, 2), e)
        for x in map(message, p[66]):  # PerfSample
            take_sample(stacks, tables, ns, x)
        for x in map(message, p[11]):  # TrackEvent
            same("type of an instant", 3, one(x, 9))
            tid, track = tracks[one(x, 11)]
            name = one(x, 23).decode()
            if track == "trigger":
                triggers.append((ns, name))
            elif tid is None:
                rings += 1
            else:
                # callstack_iid 56, of the stacks that samples have
                names = call_stack(tables, one(x, 56)) if x[56] else ()
                instants[(ns, tid, name) + names] += 1
    check_build_ids(tables)
    compare_pftrace(events, sched, stacks, instants)
    same("trigger", [(zero, "trigger: " + info["trigger"]["name"])], triggers)
    if rings < sum(r["records"] > 0 for r in info["rings"]):
        die("there are rings of which it isn't said where they begin")
    for e in events:
        if e["tid"] and e["tid"] not in threads:
            die("thread %d has no name" % e["tid"])
    print("%d switches and wake-ups, %d samples, %d others" % (
        sum(sched.values()), sum(stacks.values()), sum(instants.values())))


def take_sched(sched, cpu, ns, tid, e):
    # sched_switch 4, sched_wakeup 17, sched_waking 20, sched_wakeup_new 114
    for number, name in ((4, SCHED[0]), (17, SCHED[1]), (20, SCHED[2]), (114, SCHED[3])):
        for x in map(message, e[number]):
            if number == 4:
                what = (one(x, 1).decode(), one(x, 2), one(x, 3), one(x, 4),
                        one(x, 5).decode(), one(x, 6), one(x, 7))
            else:
                what = (one(x, 1).decode(), one(x, 2), one(x, 3), one(x, 5))
            sched[(name, cpu, ns, tid) + what] += 1


def call_stack(tables, iid):
    """Innermost first."""
    # Of interned data: function_names 5, frames 6, callstacks 7, mapping_paths 17, mappings 19
    names = []
    for i in packed(tables[7][iid][2]):
        frame = tables[6][i]
        mapping = tables[19][one(frame, 3)]
        if packed(mapping[7])[0] not in tables[17]:
            die("a mapping has no path")
        names.append(plain(one(tables[5][one(frame, 2)], 2).decode()))
    return tuple(reversed(names))


def take_sample(stacks, tables, ns, x):
    stacks[(ns, one(x, 1), one(x, 3), one(x, 2)) + call_stack(tables, one(x, 4))] += 1


def check_build_ids(tables):
    """Those of the system's files, which do not change meanwhile, are the bytes that the files have."""
    same_ids = 0
    for mapping in tables[19].values():
        path = one(tables[17][packed(mapping[7])[0]], 2).decode()
        if not mapping[2] or not path.startswith("/usr/") or not os.path.exists(path):
            continue
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
        if "Build ID: " not in notes:
            continue
        same("build-id of " + path, notes.split("Build ID: ")[1].split()[0], one(tables[16][one(mapping, 2)], 2).hex())
        same_ids += 1
    if not same_ids:
        die("no file has its build-id")


def compare_pftrace(events, sched, stacks, instants):
    mine = [collections.Counter() for _ in range(3)]
    for e in events:
        f, ns = e.get("fields", {}), int(e["time"])
        if e["event"] == SCHED[0]:
            mine[0][(e["event"], e["cpu"], ns, e["tid"], f["prev_comm"], f["prev_pid"], f["prev_prio"],
                     f["prev_state"], f["next_comm"], f["next_pid"], f["next_prio"])] += 1
        elif e["event"] in SCHED:
            mine[0][(e["event"], e["cpu"], ns, e["tid"], f["comm"], f["pid"], f["prio"], f["target_cpu"])] += 1
        names = tuple(n for n, _ in stack(e)) if "chain" in e or "at" in e else ()
        if e["event"] in SCHED and not names:
            continue
        if is_sample(e):
            mine[1][(ns, e["cpu"], whom(e), e["pid"]) + tuple(n for n, _ in stack(e))] += 1
        elif not e["event"].startswith("PERF_RECORD_"):
            mine[2][(ns, whom(e), e["event"]) + names] += 1
    same("switches and wake-ups", mine[0], sched)
    same("samples", mine[1], stacks)
    same("other events", mine[2], instants)


def ndjson(events, info, path, schema):
    import jsonschema

    check = jsonschema.Draft7Validator(json.load(open(schema, encoding="utf-8")))
    check.check_schema(check.schema)
    lines = [json.loads(line) for line in open(path, encoding="utf-8")]
    # The same but for the name of the file, which may have been given in another way.
    for key in set(info) - {"file"}:
        same("header, " + key, info[key], lines[0][key])
    same("events", len(events), len(lines) - 1)
    for mine, its in zip(events, lines[1:]):
        same("an event", mine, its)
    for line in lines[:1] + lines[1::max(1, len(lines) // 500)]:
        for error in check.iter_errors(line):
            die("the schema does not hold: %s in %s" % (error.message, json.dumps(line)[:300]))
    if not list(check.iter_errors({"t": "x"})):
        die("the schema takes anything")
    print("%d lines" % len(lines))


def main():
    formats = {"folded": folded, "pprof": pprof, "pftrace": pftrace, "ndjson": ndjson}
    events = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
    info = json.load(open(sys.argv[3], encoding="utf-8"))
    formats[sys.argv[1]](events, info, *sys.argv[4:])


main()

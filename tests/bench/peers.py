#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# For peers.sh: peers.py VALUES JSON RECORDER... prints the table of the values and writes the same as JSON. VALUES has lines of
# measure, unit, recorder, round, value, by tabs. What was measured without a recorder ("none") too is shown as the change
# against that of the same round, in percent.
import datetime, json, os, statistics, sys

values, out, *recorders = sys.argv[1:]
measures = {}  # (measure, unit): {recorder: {round: value}}
for line in open(values):
    measure, unit, recorder, round_nr, value = line.rstrip("\n").split("\t")
    measures.setdefault((measure, unit), {}).setdefault(recorder, {})[int(round_nr)] = float(value)


def spread(numbers):
    low, median, high = statistics.quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else numbers * 3
    return {"median": median, "low": low, "high": high, "rounds": len(numbers)}


def number(x):
    return f"{x:,.0f}" if abs(x) >= 100 or x == int(x) else f"{x:.3g}"


def cell(s, changed):
    if not s:
        return "-"
    if changed:
        s = s["change_percent"]
        return f"{s['median']:+.1f} % [{s['low']:+.1f} .. {s['high']:+.1f}]"
    if s["low"] == s["high"]:
        return number(s["median"])
    return f"{number(s['median'])} [{number(s['low'])} .. {number(s['high'])}]"


rows = []
table = [["", "", "alone"] + recorders]
for (measure, unit), of in measures.items():
    row = {"measure": measure, "unit": unit}
    alone = of.pop("none", None)
    if alone:
        row["alone"] = spread(list(alone.values()))
    for recorder, by_round in of.items():
        row[recorder] = spread(list(by_round.values()))
        if alone:
            row[recorder]["change_percent"] = spread([100 * (v / alone[r] - 1) for r, v in by_round.items()])
    rows.append(row)
    table.append([measure, unit, cell(row.get("alone"), False)] + [cell(row.get(r), bool(alone)) for r in recorders])

widths = [max(map(len, column)) for column in zip(*table)]
for line in table:
    print("  ".join(text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(line, widths))).rstrip())

cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
with open(out, "w") as f:
    json.dump({"date": datetime.date.today().isoformat(), "kernel": os.uname().release, "cpu": cpu, "cpus": os.cpu_count(), "rows": rows}, f, indent=1)

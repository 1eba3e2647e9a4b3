#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether what tests/soak.sh has sampled is flat.

usage: soak_fit.py SAMPLES < names

SAMPLES has a line for each sample: RUN AGE_S TIME_S VALUE..., one value for each name. A run is the
time between two kills of the recorder. Two slopes of each value: "restarts", over the means of the
runs' last thirds, and "a run", the mean of the slopes within the runs' last two thirds: in the first
one, what is bounded fills. Flat means that the 95 %
interval has 0 or is below it, or that the change over the whole time is at most 1 % or one descriptor,
mapping or page. Prints a table; exit 1 if anything grows.
"""
import statistics
import sys

# Student's t, 97.5 %, for 1, 2, ... degrees of freedom; further ones are close to the last.
T = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.16, 2.13, 2.09, 2.04, 1.96]
T_AT = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 19, 30, 120]


def t_of(freedom):
    return [t for t, at in zip(T, T_AT) if at <= max(freedom, 1)][-1]


def fit(points):
    """The slope and half of its 95 % interval."""
    xs, ys = zip(*points)
    mx, my = statistics.mean(xs), statistics.mean(ys)
    sxx = sum((x - mx) ** 2 for x in xs)
    slope = sum((x - mx) * (y - my) for x, y in points) / sxx
    rest = sum((y - my - slope * (x - mx)) ** 2 for x, y in points)
    free = len(points) - 2
    return slope, t_of(free) * (rest / free / sxx) ** 0.5 if free > 0 else float("inf")


def after(runs, part):
    return {r: [s for s in v if s[1] >= max(t[1] for t in v) * part] for r, v in runs.items()}


def rows(runs, column):
    last = after(runs, 2 / 3)
    means = [(statistics.mean(s[2] for s in v), statistics.mean(s[column] for s in v)) for v in last.values()]
    yield "restarts", means[0][1], means[-1][1], *fit(means), means[-1][0] - means[0][0]
    runs = after(runs, 1 / 3)
    slopes = [fit([(s[1], s[column]) for s in v])[0] for v in runs.values()]
    mean = statistics.mean(slopes)
    error = t_of(len(slopes) - 1) * statistics.stdev(slopes) / len(slopes) ** 0.5
    span = statistics.mean(v[-1][1] - v[0][1] for v in runs.values())
    first, end = (statistics.mean(v[i][column] for v in runs.values()) for i in (0, -1))
    yield "a run", first, end, mean, error, span


def main():
    names = sys.stdin.read().split("\n")
    runs = {}
    for line in open(sys.argv[1]):
        s = [float(x) for x in line.split()]
        runs.setdefault(s[0], []).append(s)
    runs = {r: v for r, v in runs.items() if len(v) >= 6}
    if len(runs) < 3:
        print("too few samples")
        return 1
    grows = 0
    print(f"{'':24} {'over':8} {'start':>10} {'end':>10} {'slope/h':>12} {'+-':>10}")
    for i, name in enumerate(n for n in names if n):
        for over, start, end, slope, error, span in rows(runs, 3 + i):
            least = 4 if "KiB" in name else 1
            flat = slope <= error or min(slope * span, end - start) <= max(0.01 * start, least)
            grows += not flat
            print(f"{name:24} {over:8} {start:10.1f} {end:10.1f} {slope * 3600:12.1f} {error * 3600:10.1f}"
                  f"{'' if flat else '  GROWS'}")
    return 1 if grows else 0


sys.exit(main())

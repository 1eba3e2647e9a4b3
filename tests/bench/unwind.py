# SPDX-License-Identifier: MIT
"""A load with deep stacks for unwind.sh: an interpreter that recurses, sorts, parses, until it is ended."""
import json
import re

TABLE = {str(i): [i, {"a": i}] for i in range(200)}


def walk(depth):
    if depth == 0:
        return len(json.dumps(TABLE, sort_keys=True)) + len(re.findall(r"[a-f]+\d", "abc1def2" * 20))
    return walk(depth - 1) + sorted(range(50), key=lambda x: -x)[0]


print("ready", flush=True)
while True:
    walk(12)

#!/usr/bin/env python3
"""Lets single allocations fail, and all from one on: an exception or a line of weft's; no segmentation fault, no hang, no wrong result."""

import collections
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from attack import arguments, end_with, failed, program  # noqa: E402
from bounded import best  # noqa: E402

WELL = "unharmed"
GOOD = (WELL, "named")


def places(total, number, rnd):
    """Spread over the run, closer at its beginning, where the runtime is built."""
    early = min(total, number // 4)
    return [*range(1, early + 1), *sorted(rnd.randrange(early + 1, total + 1) for _ in range(number - early))]


def main():
    asked = arguments(__doc__, runs=(int, None, "how many (24; 440 as a whole)"), only=(str, None, "once,N or from,N: this alone"))
    tried = program(asked, "failing")
    counted = best([tried, "count"], lambda ended: ended.code == 0)
    if counted.code != 0:
        raise failed(f"with nothing failing: code {counted.code}, {counted.said[-500:]}")
    total = int(counted.said.split()[-1])
    runs = asked.runs or (440 if asked.whole else 24)
    rnd = random.Random(asked.seed)
    commands = [(how, place) for how in ("once", "from") for place in places(total, runs // 2, rnd)]
    if asked.only:
        commands = [tuple(asked.only.split(","))]
    counts = collections.Counter()
    for how, place in commands:
        ended = best([tried, how, str(place)], lambda ended: ended.verdict(WELL) in GOOD, tries=2)
        counts[ended.verdict(WELL)] += 1
        if ended.verdict(WELL) not in GOOD or asked.only:
            print(f"{how} {place}: {ended.verdict(WELL)} (code {ended.code}, {ended.cpu:.2f} s of CPU)\n    {ended.said[-600:].strip()}")
    print(f"failed allocations: {len(commands)} runs of about {total} allocations (seed {asked.seed}): "
          + ", ".join(f"{counts[v]} {v}" for v in (*GOOD, "hung", "spun", "crashed or wrong")))
    return all(v in GOOD for v in counts)


if __name__ == "__main__":
    end_with(main)

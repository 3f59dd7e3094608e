#!/usr/bin/env python3
"""Refuses each system call that weft makes, by each of seven errors: another way, or a line; no hang, no spin, no crash, no wrong result."""

import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from attack import arguments, end_with, failed, program  # noqa: E402
from bounded import best  # noqa: E402

# Beside one error for each call: what was found once.
FOUND = ["epoll_pwait2 EACCES", "epoll_pwait2 EBUSY", "timerfd_settime EPERM", "accept4 EPERM", "waitid EAGAIN"]


WELL = "another way"
GOOD = (WELL, "named")


def chosen(pairs, whole):
    if whole:
        return pairs
    errors = len({pair.split()[1] for pair in pairs})
    calls = len(pairs) // errors
    sample = [pairs[call * errors + call % errors] for call in range(calls)]
    return sample + [pair for pair in FOUND if pair not in sample]


def main():
    asked = arguments(__doc__, only=(str, None, "CALL or CALL,ERROR: this alone, with what it says"))
    tried = program(asked, "refused")
    without = best([tried, "--none"], lambda ended: ended.code == 0)
    if without.verdict(WELL) != WELL:
        raise failed(f"with nothing refused: {without.verdict(WELL)}, {without.said[-500:]}")
    pairs = subprocess.run([tried, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    pairs = [p for p in pairs if p.startswith(asked.only.replace(",", " "))] if asked.only else chosen(pairs, asked.whole)
    if not pairs:
        raise failed(f"no such call or error: {asked.only}; attack_refused --list names them")
    counts = collections.Counter()
    for pair in pairs:
        ended = best([tried, *pair.split()], lambda ended: ended.verdict(WELL) in GOOD)
        counts[ended.verdict(WELL)] += 1
        if ended.verdict(WELL) not in GOOD or asked.only:
            print(f"{pair}: {ended.verdict(WELL)} (code {ended.code}, {ended.cpu:.2f} s of CPU)\n    {ended.said[-600:].strip()}")
    print(f"refused calls: {len(pairs)} refusals: " + ", ".join(f"{counts[v]} {v}" for v in (*GOOD, "hung", "spun", "crashed or wrong")))
    return all(v in GOOD for v in counts)


if __name__ == "__main__":
    end_with(main)

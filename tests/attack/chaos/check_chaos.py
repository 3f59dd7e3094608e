#!/usr/bin/env python3
"""Runs the chaos alone, beside signals, dumps, SIGSTOP and SIGCONT, and with the process ending in the middle of it."""

import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from attack import arguments, end_with, program  # noqa: E402
from bounded import no_core, run  # noqa: E402

ENDS = 9
END_CODE = 7
PATIENCE = 120          # seconds beyond what a run is told to last


def stopped_now_and_then(child, rnd):
    """Lets the process stand still for moments until it ends. How often."""
    times = 0
    while child.poll() is None:
        time.sleep(rnd.uniform(0.05, 0.3))
        try:
            child.send_signal(signal.SIGSTOP)
            time.sleep(rnd.uniform(0.0, 0.05))
            child.send_signal(signal.SIGCONT)
            times += 1
        except ProcessLookupError:
            break
    return times


def storm(chaos, seconds, seed, rnd):
    command = [chaos, "--seconds", str(seconds), "--workers", "3", "--seed", str(seed), "--storm"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=no_core) as child:
        times = stopped_now_and_then(child, rnd)
        said = child.stdout.read()
    return child.returncode, said, times


def main():
    asked = arguments(__doc__, seconds=(float, None, "of each run (1.5; 60 as a whole)"), ends=(int, None, "of each way to end (1; 28 as a whole)"))
    chaos = program(asked, "chaos")
    seconds = asked.seconds or (60 if asked.whole else 1.5)
    rnd = random.Random(asked.seed)
    lines, wrong = [], 0
    for workers in (1, 2, 4, 64) if asked.whole else (2,):
        ended = run([chaos, "--seconds", str(seconds), "--workers", str(workers), "--seed", str(asked.seed)], seconds + PATIENCE)
        wrong += ended.code != 0
        lines.append(ended.said.strip() if ended.code else ended.said.strip().splitlines()[-1])
    code, said, stops = storm(chaos, seconds, asked.seed, rnd)
    wrong += code != 0
    lines.append((said.strip() if code else said.strip().splitlines()[-1]) + f", stopped {stops} times")
    runs, ends = len(lines), 0
    for way in range(ENDS):
        for _ in range(asked.ends or (28 if asked.whole else 1)):
            seed = rnd.randrange(1 << 30)
            ended = run([chaos, "--seconds", "60", "--seed", str(seed), "--workers", str(1 + ends % 4), "--end", str(way)], 60 + PATIENCE)
            ends += 1
            if ended.code != END_CODE:
                wrong += 1
                lines.append(f"way {way} with seed {seed}: ended with {ended.code}: {ended.said[-400:].strip()}")
    print("\n".join("    " + line for line in lines))
    print(f"chaos: {runs} runs of {seconds:g} s and {ends} ends in the middle (seed {asked.seed}), {wrong} wrong")
    return not wrong


if __name__ == "__main__":
    end_with(main)

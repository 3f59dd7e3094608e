"""What the attacks share: their command line, the server that they are made on, and how they end."""

import argparse
import os
import re
import subprocess
import sys
import time


class failed(Exception):
    """One line that says what did not hold, or what stands in the way."""


def arguments(description, **more):
    """The folder of the programs, --whole and --seed, and what an attack wants besides: name=(type, default, help)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("programs", help="the folder of the attack's programs: build/dev/attack")
    parser.add_argument("--whole", action="store_true", help="all of it, not the sample that the test suite runs")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn at random (1)")
    for name, (kind, default, text) in more.items():
        parser.add_argument("--" + name, type=kind, default=default, help=text)
    return parser.parse_args()


def program(arguments, name):
    path = os.path.join(arguments.programs, "attack_" + name)
    if not os.access(path, os.X_OK):
        raise failed(f"no program {path}: cmake --build --preset dev --target weft_attack")
    return path


class server:
    """attack_server, from its first line to its end, which must be in good order."""

    def __init__(self, arguments, *more):
        self.process = subprocess.Popen([program(arguments, "server"), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on (\S+):(\d+)\n", line)
        if not found:
            raise failed(f"the server did not start: {line!r} {self.process.stderr.read()!r}")
        self.address = (found[1], int(found[2]))

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def comes_to_rest(self, at_rest):
        """Whether all descriptors come back."""
        until = time.monotonic() + 60
        while self.descriptors() > at_rest and time.monotonic() < until:
            time.sleep(0.05)
        return self.descriptors() <= at_rest

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        alive = self.process.poll() is None
        self.process.terminate()
        try:
            _, said = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            said = "it did not end within 30 s of SIGTERM"
        if kind is None and (not alive or self.process.returncode != 0 or said):
            raise failed(f"the server ended with {self.process.returncode}: {said.strip()[-500:]}")


def end_with(body):
    """Runs an attack, which prints its line of counts and returns whether all held."""
    try:
        sys.exit(0 if body() else 1)
    except failed as why:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")
    except KeyboardInterrupt:
        sys.exit(130)

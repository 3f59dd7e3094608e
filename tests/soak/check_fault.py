#!/usr/bin/env python3
"""Soaks a server that has a fault, and checks that the verdict names this fault and no other.

    check_fault.py SERVICE_SOAK SERVICE_SOAK_SERVER FAULT
"""
import re
import subprocess
import sys

# Of each fault: how many operations lie between two, what must be named, and what else may be, since one thing leads to another.
FAULTS = {
    "fiber": (1000, {"fibers", "end", "reports"}, {"RSS"}),          # it is there when the server ends, too, and is named then
    "descriptor": (1000, {"descriptors"}, set()),
    "memory": (500, {"RSS"}, set()),                                 # a megabyte each
    "thread": (1000, {"threads"}, {"RSS"}),
    "answer": (200, {"answers"}, set()),
    "line": (2000, {"reports"}, set()),
    "straggler": (2000, {"fibers", "end", "reports"}, {"RSS"}),
}

soak, server, fault = sys.argv[1:]
every, must, may = FAULTS[fault]
ran = subprocess.run([soak, server, "--seconds", "10", "--fault", fault, "--every", str(every)], stdout=subprocess.PIPE, text=True)
print(ran.stdout)
named = set(re.findall(r"^FAILED (\w+):", ran.stdout, re.M))
if ran.returncode != 1:
    sys.exit(f"exit code {ran.returncode}, expected 1")
if not must <= named or not named <= must | may:
    sys.exit(f"named {sorted(named)}, expected {sorted(must)}")

#!/usr/bin/env python3
"""Soaks a server that has a fault, and checks that the verdict names it. That it names nothing else, soak.service shows.

    check_fault.py SERVICE_SOAK SERVICE_SOAK_SERVER FAULT
"""
import re
import subprocess
import sys

# Of each fault: how many operations lie between two, and what must be named.
FAULTS = {
    "fiber": (1000, {"fibers", "end", "reports"}),  # it is there when the server ends, too, and is named then
    "descriptor": (1000, {"descriptors"}),
    "memory": (500, {"RSS"}),  # a megabyte each
    "thread": (1000, {"threads"}),
    "answer": (200, {"answers"}),
    "line": (2000, {"reports"}),
    "straggler": (2000, {"fibers", "end", "reports"}),
}

soak, server, fault = sys.argv[1:]
every, must = FAULTS[fault]
ran = subprocess.run([soak, server, "--seconds", "10", "--fault", fault, "--every", str(every)], stdout=subprocess.PIPE, text=True)
print(ran.stdout)
named = set(re.findall(r"^FAILED (\w+):", ran.stdout, re.M))
if ran.returncode != 1:
    sys.exit(f"exit code {ran.returncode}, expected 1")
if not must <= named:
    sys.exit(f"named {sorted(named)}, expected {sorted(must)} among them")

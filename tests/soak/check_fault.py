#!/usr/bin/env python3
"""Soaks a server that has faults, and checks that the verdict names each. That it names nothing else, soak.service shows.

    check_fault.py SERVICE_SOAK SERVICE_SOAK_SERVER NAME

Faults that are seen in different figures are planted together: a soak takes 20 seconds of both CPUs. The straggler has one of its own, since a
planted fiber is seen in the same figure.
"""
import re
import subprocess
import sys

# Of each name: the faults, how many operations lie between two, what must be named, and how long the soak lasts.
LEAKS = "fiber,descriptor,memory,thread"
PLANTED = {
    # a fiber is there when the server ends, too, and is named then; memory is a megabyte each
    "leak": (LEAKS, 500, {"fibers", "end", "reports", "descriptors", "RSS", "threads"}, ["--seconds", "10"]),
    "mistake": ("answer,line", 200, {"answers", "reports"}, ["--seconds", "10", "--until-found"]),
    "straggler": ("straggler", 2000, {"fibers", "end", "reports"}, ["--seconds", "10"]),
}

soak, server, name = sys.argv[1:]
faults, every, must, how = PLANTED[name]
ran = subprocess.run([soak, server, *how, "--fault", faults, "--every", str(every)], stdout=subprocess.PIPE, text=True)
print(ran.stdout)
named = set(re.findall(r"^FAILED (\w+):", ran.stdout, re.M))
if ran.returncode != 1:
    sys.exit(f"exit code {ran.returncode}, expected 1")
if not must <= named:
    sys.exit(f"named {sorted(named)}, expected {sorted(must)} among them")

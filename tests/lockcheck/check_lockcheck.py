"""Proves that the lock check names who parks with a lock of its thread held, and nobody else (R18, B5 of the asks).

    check_lockcheck.py PROGRAM LIBRARY PLUGIN

PROGRAM is held.cpp, LIBRARY libweft_lockcheck.so, which is loaded before it, PLUGIN a library with weft inside.
"""
import os
import re
import subprocess
import sys

program, library, plugin = sys.argv[1:4]
failures = []


def expect(what, fact, detail=""):
    print(("ok      " if fact else "FAILED  ") + what + (f":\n{detail}" if not fact else ""))
    if not fact:
        failures.append(what)


def run(deed, **variables):
    environment = {**os.environ, "LD_PRELOAD": library, **variables}
    return subprocess.run([program, deed, plugin], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, timeout=60)


def lines_in(text):
    return len(re.findall(r"held\.cpp:\d+", text))


reported = {"mutex_across_a_park": "mutex", "recursive_across_a_park": "mutex", "timed_across_a_park": "mutex",
            "tried_across_a_park": "mutex", "shared_across_a_park": "rwlock, shared", "exclusive_across_a_park": "rwlock, exclusive",
            "across_a_channel": "mutex"}
for deed, what in reported.items():
    said = run(deed)
    expect(f"{deed}: ends as ever", said.returncode == 0, said.stderr)
    expect(f"{deed}: is reported once", said.stderr.count("lockcheck: fiber") == 1, said.stderr)
    expect(f"{deed}: names the fiber", 'fiber "culprit", ' in said.stderr and "held.cpp:" in said.stderr.split("parks (")[0], said.stderr)
    expect(f"{deed}: names the lock", f"pthread {what} 0x" in said.stderr, said.stderr)
    taken, parks = said.stderr.partition("parks at")[::2]
    expect(f"{deed}: says where it was taken, and where it parks", deed in taken and lines_in(taken) > 1 and lines_in(parks) > 0, said.stderr)

said = run("across_a_join")
expect("across_a_join: names who took it, not the child that runs inside",
       re.search(r'fiber "innocent", \d+ \([^)]*\) parks \(sleep\) on a thread with a lock held:\n'
                 r' +pthread mutex 0x[0-9a-f]+, taken by fiber "culprit", \d+ \([^)\n]*held\.cpp:\d+\) at\n', said.stderr)
       and not re.search(r'"innocent", [^\n]* and holds', said.stderr), said.stderr)
said = run("mutex_across_a_park", WEFT_MIGRATION="torture")
expect("a fiber that moves is reported as well", said.stderr.count("lockcheck: fiber") == 1, said.stderr)
said = run("across_a_yield", WEFT_MIGRATION="torture")
expect("yield is reported under torture", said.stderr.count("parks (yield)") == 1, said.stderr)
said = run("two_across_a_park")
expect("all locks are named", len(re.findall("pthread mutex 0x", said.stderr)) == 2, said.stderr)

for deed in ("released_before", "of_weft", "not_got", "in_a_condition_variable", "beside_a_hand_off", "by_other_threads", "of_a_fiber_that_is_a_thread"):
    said = run(deed)
    expect(f"{deed}: is left alone", said.returncode == 0 and said.stderr == "", said.stderr)

said = run("after_a_closed_library")
expect("after_a_closed_library: nobody asks what is gone", said.returncode == 0 and said.stderr == "", f"{said.returncode}\n{said.stderr}")

said = run("mutex_across_a_park", WEFT_LOCKCHECK="stop")
expect("stop: reports and aborts", said.returncode == -6 and "lockcheck: fiber" in said.stderr, said.stderr)
said = run("mutex_across_a_park", WEFT_LOCKCHECK="off")
expect("off: silent", said.returncode == 0 and said.stderr == "", said.stderr)
said = run("mutex_across_a_park", LD_PRELOAD="")
expect("without the library: silent", said.returncode == 0 and said.stderr == "", said.stderr)
said = run("mutex_across_a_park", WEFT_LOCKCHECK="loud")
expect("a wrong word is named", "WEFT_LOCKCHECK must be" in said.stderr, said.stderr)
print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)

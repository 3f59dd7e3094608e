"""check_perf.py - records a program whose fibers switch all the time, as `perf record -g -e cpu-clock` does, and looks at the callers.

    check_perf.py PROGRAM WORK

In every sample of the program's own code: no callers of two fibers at once; in the switch, the function of the one fiber it belongs to;
at the end of the chain the base of the fiber's stack. Where perf is not permitted, says so, and what looks at the same thing without it.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys

MILLISECONDS = 1500   # of CPU time
INSTEAD = "that the frame pointers are right at each instruction of a switch is looked at by unwind.CONTEXT_4_frame_pointers_*"


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=100)


def record(perf, program, data):
    for event in ("cpu-clock", "cpu-clock:u"):   # the second where the kernel itself may not be looked at
        done = run(perf, "record", "-g", "-e", event, "-F", 2000, "-o", data, program, MILLISECONDS)
        if done.returncode == 0:
            return
    print(f"check_perf.py: perf may not record here: {done.stderr.strip()[-600:]}\n{INSTEAD}")
    sys.exit(0)


def samples(perf, program, data):
    """Of each sample, innermost first: (function, file)."""
    text = run(perf, "script", "-i", data, "--no-inline", "-F", "ip,sym,dso", "--ns").stdout
    for block in re.split(r"\n\s*\n", text):
        frames = re.findall(r"^\s+[0-9a-f]+ (.+?) \(([^()]*|\[[^]]*\])\)$", block, re.M)
        if frames:
            yield [(re.sub(r"\+0x[0-9a-f]+$", "", name), file) for name, file in frames]


def main(program, work):
    perf = shutil.which("perf")
    if not perf:
        sys.exit("check_perf.py: there is no perf; scripts/setup build installs it")
    pathlib.Path(work).mkdir(parents=True, exist_ok=True)
    data = pathlib.Path(work) / "perf.data"
    record(perf, program, data)
    found, faults = collections.Counter(), collections.Counter()
    for frames in samples(perf, program, data):
        names = [name for name, _ in frames]
        if not frames[0][1].endswith("/" + pathlib.Path(program).name):
            continue   # in the kernel or in libc, which keeps no frame pointers
        found["samples"] += 1
        kinds = {kind for kind in ("apple", "pear", "plum") for name in names if f"{kind}_outer" in name}
        in_switch = names[0] == "weft_switch_context"
        found["in a switch"] += in_switch
        if in_switch and not kinds:
            found["in a switch of the worker's own"] += 1
        if len(kinds) > 1:
            faults["callers of two fibers: " + " < ".join(names)] += 1
        if kinds and (names[-1] != "weft_context_base" or "[unknown]" in names):
            faults["no end at the base: " + " < ".join(names)] += 1
        if in_switch:
            found.update(kinds)
    print(", ".join(f"{what}: {n}" for what, n in found.items()))
    for what, n in faults.most_common(5):
        print(f"{n} x {what}")
    if found["in a switch"] < 20 or not found["apple"] or not found["pear"]:
        sys.exit("check_perf.py: too few samples to say anything")
    if faults or found["in a switch of the worker's own"] * 20 > found["in a switch"]:
        sys.exit("check_perf.py: wrong callers")


if __name__ == "__main__":
    main(*sys.argv[1:])

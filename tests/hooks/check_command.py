"""Checks `weft run --hooks`, `weft hooks PID`, WEFT_HOOKS_AUDIT and what a dump says of hooked calls.

    check_command.py WEFT READS BLOCKS CLOSES PLUGIN LIBRARY OTHER_VERSION [--static PROGRAM]

READS is tests/hooks/reads.cpp, BLOCKS tests/hooks/blocks.cpp, CLOSES tests/hooks/closes.cpp, PLUGIN
has weft inside, LIBRARY is libweft_hooks.so, OTHER_VERSION a library that refuses the table, PROGRAM tests/hooks/reads.cpp with the hooks and all else linked statically.
"""
import json
import os
import re
import subprocess
import sys
import time

weft, reads, blocks, closes, plugin, library, other_version, *static = sys.argv[1:]
failures = []


def expect(what, fact, said=""):
    print(("ok      " if fact else "FAILED  ") + what)
    if not fact:
        failures.append(what)
        print(said)


def run(*words, given="", **variables):
    return subprocess.run(words, input=given, text=True, capture_output=True, env={**os.environ, **variables}, timeout=60)


def main():
    r = run(reads, given="abc", WEFT_HOOKS="1")
    expect("without the library one line says so, and the calls block", r.returncode == 0 and "read 3" in r.stdout and "plain" in r.stdout
           and r.stderr.count("\n") == 1 and "libweft_hooks.so is not loaded" in r.stderr, r)
    r = run(reads, given="abc", LD_PRELOAD=library)
    expect("the library alone changes nothing", r.returncode == 0 and "plain" in r.stdout and r.stderr == "", r)
    r = run(reads, given="abc", LD_PRELOAD=other_version, WEFT_HOOKS="1")
    expect("a library of another version is refused", r.returncode == 0 and "plain" in r.stdout and "another version" in r.stderr, r)
    if static:
        r = run(static[1], given="abc", WEFT_HOOKS="1", WEFT_HOOKS_AUDIT="1")
        expect("a static program has the hooks inside, and calls them", r.returncode == 0 and "read 3" in r.stdout and "hooked" in r.stdout
               and re.search(r"^hooks: .* read +4 calls", r.stderr, re.M), r)
        r = run(static[1], given="abc")
        expect("which change nothing unless they are asked for", r.returncode == 0 and "read 3" in r.stdout and "plain" in r.stdout, r)
    r = run(reads, given="abc", WEFT_HOOKS="2")
    expect("WEFT_HOOKS is 0 or 1", r.returncode != 0 and "WEFT_HOOKS must be a number from 0 to 1" in r.stderr, r)

    r = run(weft, "run", "--hooks", "--audit", reads, given="abc")
    expect("weft run --hooks", r.returncode == 0 and "read 3" in r.stdout and "hooked" in r.stdout, r)
    expect("--audit prints the place of each call", "hooks: reads" in r.stderr.replace("hooks_reads", "reads") and "reads_to_the_end+0x" in r.stderr
           and " 4 calls" in r.stderr, r.stderr)

    r = run(weft, "run", "--hooks", "--audit", blocks)
    said = [line.split() for line in r.stderr.splitlines() if "blocks_past_the_hooks+0x" in line]
    expect("--audit names the place of a call that blocks although hooks are on", r.returncode == 0 and len(said) == 1 and said[0][3] == "read", r)
    calls = int(r.stdout)
    times, in_all, longest = (int(said[0][i]) for i in (4, 6, 10)) if said else (0, 0, 0)
    expect("how often, and for how long", times == calls and 50 * calls <= in_all < 60_000 and 50 <= longest <= in_all, r)
    said = [line.split() for line in r.stderr.splitlines() if "blocks_in_the_hooks+0x" in line]
    expect("a hooked call that blocks is one place with both counts", [line[3:6] for line in said] == [["clock_nanosleep", "1", "calls"],
           ["clock_nanosleep", "1", "times"]] and said[0][2] == said[1][2] and said[0][8] == "1", r)

    r = run(blocks, "retries", LD_PRELOAD=library, WEFT_HOOKS="1")
    expect("a place that calls again after each ECANCELED is named, once", r.returncode == 0 and r.stdout == "2500\n" and r.stderr.count("\n") == 1
           and "retries_for_long+0x" in r.stderr and "read 1000 times in a row" in r.stderr, r)

    for hooks, said in (("1", "is there\n"), ("0", "is gone\n")):
        r = run(closes, plugin, LD_PRELOAD=library, WEFT_HOOKS=hooks)
        expect(f"a closed library with weft inside {said.strip()} with WEFT_HOOKS={hooks}", r.returncode == 0 and r.stdout == said, r)
    for words, said in ((["run", "--hooks"], "which program"), (["run", reads], "--hooks"), (["run", "--hooks", "/none/such"], "No such file"),
                        (["hooks", "1"], "does not serve dumps"), (["hooks"], "PID is required")):
        r = run(weft, *words)
        expect(f"weft {' '.join(words)} is refused", r.returncode != 0 and said in r.stderr, r)

    with subprocess.Popen([weft, "run", "--hooks", reads], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "WEFT_INSPECT": "1"}) as child:
        try:
            expect("the other fiber runs while the reader waits", child.stdout.readline() == "hooked\n")
            until = time.monotonic() + 30
            while True:   # the fiber may be about to wait
                said = run(weft, "hooks", str(child.pid)).stdout
                if " 1 parks" in said or time.monotonic() > until:
                    break
            expect("weft hooks PID names the place", "reads_to_the_end+0x" in said and " 1 calls" in said and " 1 parks" in said, said)
            as_json = run(weft, "hooks", str(child.pid), "--json").stdout
            sites = json.loads(as_json)
            expect("and as JSON", sites["active"] and any(s["call"] == "read" and s["parks"] == 1 for s in sites["sites"]), as_json)
            said = run(weft, "dump", str(child.pid)).stdout
            expect("a dump shows the call", "waiting for hooked read: read(0) in reads_to_the_end+0x" in said, said)
            as_json = run(weft, "dump", str(child.pid), "--json").stdout
            calls = [f["call"] for r in json.loads(as_json)["runtimes"] for f in r["fibers"] if "call" in f]
            expect("and as JSON", len(calls) == 1 and calls[0]["name"] == "read" and calls[0]["descriptor"] == 0, as_json)
            child.stdin.write("x")
            child.stdin.close()
            expect("it reads on", child.stdout.readline() == "read 1\n")
        finally:
            child.kill()


main()
sys.exit(1 if failures else 0)

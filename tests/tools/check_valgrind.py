#!/usr/bin/env python3
"""Runs test programs of the ordinary build under Valgrind's memcheck: no error, nothing lost.

    check_valgrind.py [--whole] PROGRAM...

Says which tests it leaves out and why. --whole: those as well that are left out because they take long. Ends with 0 if every program
passes all its tests and Valgrind has nothing to say.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

# Of every program. Valgrind runs one thread at a time and switches rarely, so they would show nothing and take for ever.
everywhere = [("*stress*:*soak*", "Valgrind runs one thread at a time, so they repeat and meet nobody"),
              ("*timing*", "they measure time"),
              ("unwind*", "Valgrind does not know the processor's trap flag, by which they step")]
# Of some programs: pattern, reason.
left_out = {
    "stack": [("sampled_stack.seed_Q13*", "the kernel samples Valgrind's own code, which runs in place of the program's"),
              ("alternate_stack.nests_and_restores_what_was_there",
               "Valgrind goes on using an alternate signal stack after it was disabled, for the next signal of that thread")],
    "sched": [("workers/hand_off.ask_C2_*:hand_off_alone.a_demoted_fiber_*:workers/several_workers.*_stolen*:hog_nice.*:quota_followed.*:*few_awake*",
               "they need two threads to run at once")],
    "runtime": [("hog_stacks.seed_Q13*:hog_reports.*that_computes*:hog_reports.are_a_line_on_stderr_unless_somebody_listens",
                 "the kernel samples Valgrind's own code, which runs in place of the program's"),
                ("many.*", "they take Valgrind longer than their watcher waits")],
    "io": [("*processes.ask_E4_that_cannot_start_say_so*:*processes.a_missing_directory_is_named*", "Valgrind makes a fork of a vfork, and how exec failed comes through shared memory"),
           ("*processes.ask_E4_sigchld_and_other_peoples_children_*", "a fork's child ends with Valgrind's code: what its other threads had looks lost"),
           ("*a_blocking_call_that_has_not_begun*", "64 threads that look each 0.2 ms take Valgrind 90 s")],
}
# Left out unless --whole.
slow = {
    "flow": "feed.*",
    "sched": "workers/hand_off.*:hand_off_alone.*:workers/several_workers.*",
}
# Unless --whole, these alone.
quick = {
    "sync": "channel.*:select.*:select_all.*:select_join.*:channel_cancel.*:cell.*:ivar.*:wait_group.*:shared_mutex.*:fiber_local.*:"
            "any_function.*:join_in_place.*:workers/fibers.*/2",
}


def name_of(program):
    return pathlib.Path(program).name.removesuffix("_test")


def filter_for(name, whole):
    only, out = "*", everywhere + left_out.get(name, [])
    if not whole and name in slow:
        out = out + [(slow[name], "they take long: make valgrind runs them")]
    if not whole and name in quick:
        only = quick[name]
        print(f"valgrind: {name}: only {only}: make valgrind runs the others", flush=True)
    for pattern, reason in out:
        print(f"valgrind: {name}: left out: {pattern}: {reason}", flush=True)
    return only + "-" + ":".join(pattern for pattern, _ in out)


def check(valgrind, program, whole):
    # A death test's child is a program of its own, and runs without Valgrind; a plain fork's child says nothing: its other threads are
    # not there, and what they had looks lost.
    tests = [program, "--gtest_brief=1", "--gtest_death_test_style=threadsafe", "--gtest_filter=" + filter_for(name_of(program), whole)]
    found = 99
    # Without --fair-sched, threads that spin keep those away for which they wait.
    command = [valgrind, "--quiet", f"--error-exitcode={found}", "--leak-check=full", "--child-silent-after-fork=yes", "--num-callers=25",
               "--fair-sched=try"]
    run = subprocess.run(command + tests, stdout=subprocess.PIPE, text=True)
    print(run.stdout, flush=True)
    if run.returncode:
        why = "Valgrind found errors" if run.returncode == found else f"the tests ended with {run.returncode}"
    else:
        why = "" if re.search(r"^\[  PASSED  \] [1-9]", run.stdout, re.M) else "no test ran"
    if why:
        print(f"valgrind: {program}: {why}", flush=True)
    return not why


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--whole", action="store_true")
    options.add_argument("programs", nargs="+")
    asked = options.parse_args()
    valgrind = shutil.which("valgrind")
    if not valgrind:
        sys.exit("check_valgrind.py: there is no valgrind; scripts/setup build installs it")
    good = [check(valgrind, program, asked.whole) for program in asked.programs]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

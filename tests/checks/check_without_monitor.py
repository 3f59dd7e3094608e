"""Builds the core with WEFT_PREEMPT=OFF, looks that nothing of the monitor is in it, and runs a program.

    check_without_monitor.py SOURCE_DIR CMAKE GENERATOR COMPILER NM WORK_DIR

The interface is src/sched/monitor/preemption.hpp; docs/design/handoff.md says what such a build does.
"""
import pathlib
import re
import shutil
import subprocess
import sys

source, cmake, generator, compiler, nm, work = sys.argv[1:]
source, work = pathlib.Path(source), pathlib.Path(work)
failures = []
ABSENT = ["monitor", "judge", "watch", "hog_reporter", "blocked_audit", "alarm", "report_allowance", "quiescence", "few_at_once"]
FREE_ABSENT = ["set_slice_of", "set_usual_slice", "blocked_in", "caller_in", "would_profit"]


def expect(what, fact, said=""):
    print(("ok      " if fact else "FAILED  ") + what, flush=True)
    if not fact:
        failures.append(what)
        print(said)


def run(*command):
    return subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def symbols(library):
    said = run(nm, "--demangle", "--defined-only", library).stdout
    return [" ".join(line.split()[2:]) for line in said.splitlines() if len(line.split()) > 2]


def of_the_monitor(names):
    pattern = re.compile(rf"weft::detail::(?:(?:{'|'.join(ABSENT)})::|(?:\(anonymous namespace\)::)?(?:{'|'.join(FREE_ABSENT)})\()")
    return [n for n in names if pattern.search(n)]


# With -O1 the empty functions of no_monitor.hpp are inlined, so they leave no names.
shutil.rmtree(work, ignore_errors=True)
build = work / "build"
said = run(cmake, "-G", generator, "-S", source, "-B", build, f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=None",
           "-DCMAKE_CXX_FLAGS=-O1", "-DWEFT_PREEMPT=OFF", "-DWEFT_UNITY_BUILD=ON", "-DWEFT_WERROR=ON", "-DWEFT_HTTP=OFF", "-DWEFT_REDIS=OFF",
           "-DWEFT_TESTS=ON", "-DWEFT_TOOLS=OFF", "-DWEFT_EXAMPLES=OFF", "-DWEFT_BENCH=OFF", "-DWEFT_INSTALL=OFF")
expect("it is configured", said.returncode == 0, said.stdout)
expect("tests of the monitor are left out, and it says so", "tests skipped" in said.stdout, said.stdout)
said = run(cmake, "--build", build, "--target", "weft", "--parallel", "2")
expect("the core is built without a warning", said.returncode == 0, said.stdout)
library = build / "libweft.a"
names = symbols(library)
expect("its names are found", any("weft::detail::scheduler::" in n for n in names) and any("carrier_pool::" in n for n in names))
found = of_the_monitor(names)
expect("nothing of the monitor is among them", not found, "\n".join(found))
program = work / "smoke"
said = run(compiler, "-std=c++20", "-O1", "-pthread", f"-I{source}/include", source / "tests/checks/without_monitor/smoke.cpp", library,
           "-o", program)
expect("a program is linked", said.returncode == 0, said.stdout)
said = run(program)
print(said.stdout)
expect("it runs", said.returncode == 0)
if failures:
    sys.exit(f"{len(failures)} failed")

"""Proves that the checks can fail: each is run on a tree with planted flaws and must report exactly those.

    check_negative.py SOURCE_DIR CMAKE COMPILER WORK_DIR

In the trees below tests/checks/bad a line that must be reported carries the word BAD in a comment.
"""
import pathlib
import re
import shutil
import subprocess
import sys

source, cmake, compiler, work = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
bad = source / "tests" / "checks" / "bad"
failures = []


def expect(what, fact):
    print(("ok      " if fact else "FAILED  ") + what)
    if not fact:
        failures.append(what)


def run(*command, **options):
    return subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def planted(root):
    return {f"{path.relative_to(root)}:{number}"
            for path in root.rglob("*") if path.is_file()
            for number, line in enumerate(path.read_text().split("\n"), 1) if re.search(r"(//|#).*\bBAD\b", line)
            and "marked BAD" not in line}


def check_source_rules(script, tree):
    result = run(sys.executable, source / "scripts" / script, bad / tree)
    reported = {":".join(line.split(":")[:2]) for line in result.stdout.splitlines()}
    for place in sorted(planted(bad / tree) | reported):
        expect(f"{script} {'reports' if place in planted(bad / tree) else 'leaves alone'} {place}",
               (place in reported) == (place in planted(bad / tree)))
    expect(f"{script} ends with 1", result.returncode == 1)
    empty = work / "empty"
    empty.mkdir(parents=True, exist_ok=True)
    layers = [bad / "layers" / "scripts" / "layers.txt"] if script == "check_layers" else []
    expect(f"{script} refuses a tree without sources", run(sys.executable, source / "scripts" / script, empty, *layers).returncode != 0)


def check_header_rule():
    build = work / "headers"
    shutil.rmtree(build, ignore_errors=True)
    configured = run(cmake, "-S", source / "tests" / "checks" / "header_fixture", "-B", build, f"-DCMAKE_CXX_COMPILER={compiler}")
    expect("the header fixture configures", configured.returncode == 0)
    expect("a header that compiles alone passes", run(cmake, "--build", build, "--target", "good").returncode == 0)
    leaning = run(cmake, "--build", build, "--target", "bad")
    expect("a header that leans on its user fails", leaning.returncode != 0 and "leaning.hpp" in leaning.stdout)


def check_expected_output():
    script = source / "cmake" / "run_expecting.cmake"
    text = work / "text.expected"
    text.write_text("one\n")
    program = work / "program"

    def ends_well(body):
        program.write_text("#!/bin/sh\n" + body)
        program.chmod(0o755)
        return run(cmake, "-D", f"PROGRAM={program}", "-D", f"EXPECTED={text}", "-P", script).returncode == 0

    expect("a guide program with the expected text passes", ends_well("echo one\n"))
    expect("a guide program with another text fails", not ends_well("echo two\n"))
    expect("a guide program with less text fails", not ends_well("true\n"))
    expect("a guide program that returns 1 fails", not ends_well("echo one; exit 1\n"))


def check_count():
    def line(*reports, name="t"):
        paths = []
        for number, cases in enumerate(reports):
            paths.append(work / f"report{number}.xml")
            paths[-1].write_text("<testsuite>" + "".join(f'<testcase name="{name}" status="{c}"/>' for c in cases) + "</testsuite>")
        result = run(sys.executable, source / "scripts" / "count_tests", *(paths or [work / "absent.xml"]))
        return result.stdout.splitlines()[-1], result.returncode
    expect("tests that passed are counted", line(["run", "run"], ["run"]) == ("3 passed, 0 failed", 0))
    expect("failed, skipped and disabled tests fail the count", line(["run", "fail", "notrun", "disabled"]) == ("1 passed, 3 failed", 1))
    expect("a suite in one process counts as its tests", line(["run", "fail"], name="s.* (12 tests)") == ("12 passed, 12 failed", 1))
    expect("a report without tests is a failure", line(["run"], []) == ("1 passed, 1 failed", 1))
    expect("a missing report is a failure", line() == ("0 passed, 1 failed", 1))


work.mkdir(parents=True, exist_ok=True)
check_source_rules("check_layers", "layers")
check_source_rules("check_atomics", "atomics")
check_source_rules("check_guarantees", "guarantees")
check_source_rules("check_rows", "rows")
check_source_rules("check_tags", "tags")
check_source_rules("check_waits", "waits")
check_source_rules("check_umbrella", "umbrella")
check_header_rule()
check_expected_output()
check_count()
sys.exit(1 if failures else 0)

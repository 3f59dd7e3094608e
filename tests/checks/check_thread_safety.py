"""Proves that clang knows weft's locks: it must report the lines marked BAD in bad/thread_safety/unlocked.cpp, and no others there or in a header.

    check_thread_safety.py SOURCE_DIR CLANG
"""
import pathlib
import re
import shlex
import subprocess
import sys

source, compiler = pathlib.Path(sys.argv[1]), shlex.split(sys.argv[2])
planted = source / "tests" / "checks" / "bad" / "thread_safety" / "unlocked.cpp"

command = [*compiler, "-std=c++20", "-fsyntax-only", "-Wthread-safety", f"-I{source / 'include'}", f"-I{source / 'src'}", planted]
output = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
bad = {n for n, line in enumerate(planted.read_text(encoding="utf-8").split("\n"), 1) if "// BAD" in line}
reported = {int(n) for n in re.findall(r"unlocked\.cpp:(\d+):\d+: warning: .*\[-Wthread-safety", output)}
elsewhere = [l for l in output.split("\n") if "[-Wthread-safety" in l and "unlocked.cpp:" not in l]

for line in sorted(bad | reported):
    print(f"line {line}: {'marked' if line in bad else 'not marked'}, {'reported' if line in reported else 'not reported'}")
if "error:" in output or not bad or bad != reported or elsewhere:
    print(output)
    sys.exit("FAILED: clang reports other lines than those that are marked")

"""Compiles each source of src/ alone, without making code: in a unity build one may lean on what another includes.

    check_alone.py SOURCE_DIR CLANG ARCHITECTURE [INCLUDE_DIR ...]

Sources of other architectures are left out. bad/alone/leans.cpp must not compile. The headers of the standard library that most sources
include are compiled once for all, which halves the time; so what is shown is that a source includes what it uses of weft.
"""
import concurrent.futures
import pathlib
import shlex
import subprocess
import sys
import tempfile

STANDARD = ["algorithm", "array", "chrono", "functional", "memory", "optional", "span", "stdexcept", "stop_token", "string", "string_view",
            "system_error", "thread", "vector"]
root, compiler, architecture = pathlib.Path(sys.argv[1]), shlex.split(sys.argv[2]), sys.argv[3]
folders = ["-I", root / "include", "-I", root / "src"]
for folder in sys.argv[4:]:
    folders += ["-isystem", folder]


work = tempfile.TemporaryDirectory()
standard = pathlib.Path(work.name) / "standard.hpp"
standard.write_text("".join(f"#include <{header}>\n" for header in STANDARD))
common = ["-std=c++20", "-w", "-DWEFT_BUILDING", "-DWEFT_GDB_SCRIPT=\"\"", *folders]
subprocess.run([*compiler, *common, "-x", "c++-header", standard, "-o", standard.with_suffix(".pch")], check=True)


def complaints(source):
    """What the compiler says of the source; empty if it compiles."""
    command = [*compiler, *common, "-fsyntax-only", "-include-pch", standard.with_suffix(".pch"), source]
    run = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.stdout if run.returncode != 0 else ""


arch = root / "src" / "arch"
sources = [s for s in sorted((root / "src").rglob("*.cpp")) if arch not in s.parents or s.parent in (arch, arch / architecture)]
if not sources or not complaints(root / "tests" / "checks" / "bad" / "alone" / "leans.cpp"):
    sys.exit("FAILED: there are no sources, or the planted one compiles")
with concurrent.futures.ThreadPoolExecutor(max_workers=2) as two:
    found = [text for text in two.map(complaints, sources) if text]
print("\n".join(found), f"{len(sources)} sources compiled alone, {len(found)} do not", sep="\n")
sys.exit(1 if found else 0)

"""Proves that weft-lint finds what is planted and nothing else, in every way of compiling it.

    check_lint.py SOURCE_DIR LINT LIBRARY C_LIBRARY WORK_DIR COMPILER...

LIBRARY is weft as an archive, C_LIBRARY that of the C ABI. What must be found stands in the names of the functions of planted.cpp.
"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

source, lint, library, c_library = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
work, compilers = pathlib.Path(sys.argv[5]), sys.argv[6:]
here = source / "tests/lint"
failures = []


def expect(what, fact, detail=""):
    print(("ok      " if fact else "FAILED  ") + what + (f": {detail}" if not fact else ""))
    if not fact:
        failures.append(what)


def run(*command):
    return subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def compiled(compiler, flags, out, *what):
    made = run(compiler, "-std=c++20", *flags, f"-I{source}/include", *what, "-o", out)
    if made.returncode != 0:
        sys.exit(made.stderr)
    return out


def functions_of(file):
    return {line.split()[-1] for line in run("nm", "--defined-only", file).stdout.splitlines()}


def wanted(file, optimized, shared):
    prefixes = ["planted_"] + (["optimized_"] if optimized else []) + (["shared_"] if optimized and shared else [])
    return {f for f in functions_of(file) if f.startswith(tuple(prefixes)) and not f.endswith(".cold")}


def judge(name, file, should, *more):
    said = run(lint, "--json", *more, file)
    if said.returncode not in (0, 1):
        return expect(f"{name}: read", False, said.stderr)
    of_ours = ("planted_", "optimized_", "shared_", "innocent_")
    found = {f["symbol"] for f in json.loads(said.stdout)}
    others = {f for f in found if not f.startswith(of_ours)}
    ours = found - others
    expect(f"{name}: all that is planted is found", should <= ours, f"missing {sorted(should - ours)}")
    expect(f"{name}: nothing else is", ours <= should, f"found {sorted(ours - should)}")
    expect(f"{name}: nor in the rest of the program", not others, f"found {sorted(others)}")
    expect(f"{name}: the exit status says so", said.returncode == (1 if found else 0))


def variants():
    for compiler in compilers:
        tag = pathlib.Path(compiler).name
        for level, model in ("-O0", "-fPIC"), ("-O2", "-fPIE"), ("-O2", "-fPIC"), ("-O3", "-fPIC"):
            yield f"{tag} {level} {model}", compiler, level, model


def try_variant(name, compiler, level, model):
    """An object; from it a program where those are made, and libraries of both kinds."""
    stem = work / name.replace(" ", "_").replace("+", "p")
    stem.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-g", level, model]
    o = compiled(compiler, [*flags, "-c"], f"{stem}.o", here / "planted.cpp")
    should = wanted(o, level != "-O0", model == "-fPIC")
    expect(f"{name}: bugs were planted", len(should) >= 10)
    judge(f"{name}, object", o, should)
    if model == "-fPIE":
        program = compiled(compiler, [*flags, "-pie"], f"{stem}.program", o, here / "rest.cpp", library, "-pthread")
        judge(f"{name}, program", program, should)
    elif level != "-O0":
        so = compiled(compiler, [*flags, "-shared"], f"{stem}.so", o, "-Wl,-z,lazy" if level == "-O2" else "-Wl,-z,now")
        judge(f"{name}, shared library", so, should)
    return o


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    *_, o = pool.map(lambda v: try_variant(*v), variants())

# How it tells.
said = run(lint, o)
expect("it names the line of each step", all(part in said.stdout for part in ("planted.cpp:", "takes the address of", "which may park")))
allow = work / "allow.txt"
allow.write_text("^planted_  # all of them\n^optimized_\n^shared_\n")
judge("an allow-list is obeyed", o, set(), "--allow", allow)
expect("--indirect finds more or the same", run(lint, "--indirect", o).returncode == 1)
expect("what is no ELF file is refused", run(lint, here / "rest.cpp").returncode == 2)
expect("a file that is not there is refused", run(lint, work / "nowhere").returncode == 2)
expect("--help states the limits", "does not see" in run(lint, "--help").stdout)

# The list of what parks, kept in the sources, has all that the library says of functions that users can call.
declared = set(re.findall(r"\w+", "\n".join(h.read_text() for h in (source / "include").rglob("*.hpp"))))


def is_declared(line):
    """Of a demangled name: whether its last word before the parameters stands in a public header."""
    plain = line
    while "<" in plain and (shorter := re.sub(r"<[^<>]*>", "", plain)) != plain:
        plain = shorter
    return re.search(r"(operator\b|\w+)[^\w(]*(\[abi:\w+\])?\(", plain)[1] in declared


kept = {line for line in (source / "tools/lint/parks.txt").read_text().splitlines() if line and not line.startswith("#")}
parking = run(lint, "--list-parking", library).stdout.split()
readable = subprocess.run(["c++filt"], input="\n".join(parking), text=True, stdout=subprocess.PIPE).stdout.split("\n")
now = {name for name, line in zip(parking, readable) if "(" in line and is_declared(line)}
expect("the library has functions that park", len(now) > 50)
expect("tools/lint/parks.txt has all that park", now <= kept, "add\n" + "\n".join(sorted(now - kept)))

# And all functions of the C ABI. Some park for a reason that their users never meet, such as a limit of fibers that they do not set.
now = {name for name in run(lint, "--list-parking", c_library).stdout.split() if name.startswith("weft_")}
expect("of the functions for C some park", len(now) > 25)
# These park by a virtual function, which the tool does not follow.
now |= {"weft_http_flush", "weft_http_read", "weft_http_write", "weft_http_write_file"}
expect("tools/lint/parks.txt has the same of them", now == {name for name in kept if name.startswith("weft_")}, sorted(now))
print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)

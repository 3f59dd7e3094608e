"""Compiles files of a user with flags that weft cannot be used with: each is refused in one line that names it.

    check_flags.py SOURCE_DIR COMPILER WORK_DIR
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

source, compiler, work = pathlib.Path(sys.argv[1]), shlex.split(sys.argv[2]), pathlib.Path(sys.argv[3])
failures = []
os.environ["LC_ALL"] = "C"   # in which the compiler says error

HEADERS = ["weft.hpp", "runtime.hpp", "fiber.hpp", "scope.hpp", "channel.hpp", "mutex.hpp", "semaphore.hpp", "ivar.hpp", "blocking.hpp",
           "coroutine.hpp", "generator.hpp", "actor.hpp", "net/tcp.hpp", "io/process.hpp", "http/server.hpp", "redis/client.hpp"]


def expect(what, fact):
    print(("ok      " if fact else "FAILED  ") + what)
    if not fact:
        failures.append(what)


def compile(text, *flags):
    command = [*compiler, "-std=c++20", f"-I{source / 'include'}", *flags, "-x", "c++", "-"]
    return subprocess.run([str(c) for c in command], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def first_error(output):
    return next((line for line in output.splitlines() if re.search(r"\berror:", line)), "")


def another_library():
    """Headers of a standard library that is not libstdc++, as far as it matters: all are there but <stop_token>, and say nothing."""
    folder = work / "another-library"
    folder.mkdir(parents=True, exist_ok=True)
    for header in (source / "include").rglob("*.hpp"):
        for name in re.findall(r"^#include <(\w+)>$", header.read_text(), re.M):
            if name != "stop_token":
                (folder / name).write_text("")
    return folder


def check_refusals():
    other = another_library()
    for flags, sentence in ((["-std=c++17"], "weft needs C++20"), (["-fno-rtti"], "weft needs run-time type information"),
                            (["-fno-exceptions"], "weft needs exceptions"),
                            (["-nostdinc++", "-isystem", other], "weft needs libstdc++")):
        for header in HEADERS if "-nostdinc++" in flags else HEADERS[:1]:
            done = compile(f"#include <weft/{header}>\n", "-fsyntax-only", *flags)
            said = first_error(done.stdout) if flags[0] != "-nostdinc++" else done.stdout   # the empty headers have errors of their own
            expect(f"{flags[0]} is refused by <weft/{header}> with '{sentence}'", done.returncode != 0 and sentence in said)


def check_containers():
    """The four pairs of a library and a file, each with or without _GLIBCXX_DEBUG."""
    kinds = {"with": ["-D_GLIBCXX_DEBUG"], "without": ["-U_GLIBCXX_DEBUG"]}
    for kind, flags in kinds.items():
        for file in ("requirements", "abi"):
            library = compile((source / f"src/base/{file}.cpp").read_text(), *flags, "-c", "-o", work / f"{file}-{kind}.o")
            expect(f"{file}.cpp of a library is compiled {kind} _GLIBCXX_DEBUG", library.returncode == 0)
    for library in kinds:
        for file, flags in kinds.items():
            text = "#include <weft/detail/requirements.hpp>\nint main() {}\n"
            compiled = compile(text, *flags, "-c", "-o", work / "file.o")
            parts = [work / "file.o", work / f"requirements-{library}.o", work / f"abi-{library}.o"]
            linked = subprocess.run([*compiler, *parts, "-o", work / "program"], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            pair = f"a file {file} _GLIBCXX_DEBUG and a library {library} it"
            if file == library:
                expect(f"{pair} link", compiled.returncode == 0 and linked.returncode == 0)
            else:
                expect(f"{pair} do not link, and the linker says why", linked.returncode != 0 and f"built_{file}_GLIBCXX_DEBUG" in linked.stdout)


work.mkdir(parents=True, exist_ok=True)
check_refusals()
check_containers()
sys.exit(1 if failures else 0)

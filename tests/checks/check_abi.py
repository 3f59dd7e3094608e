"""Two copies of weft in one process, and headers and libraries of two versions: what must work works, and the rest is refused in one line.

    check_abi.py SOURCE_DIR COMPILER STATIC_LIBRARY SHARED_LIBRARY VERSION WORK_DIR

docs/design/abi.md has the cases.
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

source, compiler, static, shared, version, work = sys.argv[1:]
source, static, shared, work = (pathlib.Path(p) for p in (source, static, shared, work))
major, minor, _ = version.split(".")
abi, soname = f"{major}.{minor}", f"libweft.so.{major}.{minor}"
next_version, next_name = f"{major}.{int(minor) + 1}.0", f"needs_weft_{major}_{int(minor) + 1}"
failures = []
os.environ["LC_ALL"] = "C"

# A library with a function that uses weft, and a program that does so itself and then calls that of each library it opens.
USER = """#include <weft/channel.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
extern "C" __attribute__((visibility("default"))) int user_work() {
    return weft::run([] {
        weft::channel<int> numbers(1);
        weft::fiber<> sender = weft::spawn([numbers]() mutable { numbers.send(7); });
        sender.join();
        return numbers.receive().value_or(0) == 7 ? 0 : 1;
    });
}
"""
PROGRAM = """#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <dlfcn.h>
#include <cstdio>
#ifdef LINKED
extern "C" int user_work();
#endif
int main(int count, char** paths) {
    int failed = weft::run([] { return weft::spawn([] { return 0; }).join(); });
#ifdef LINKED
    failed += user_work();
#endif
    for (int i = 1; i < count; ++i) {
        void* const library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) return std::fprintf(stderr, "%s\\n", dlerror()), 2;
        failed += reinterpret_cast<int (*)()>(dlsym(library, "user_work"))();
    }
    return failed;
}
"""


def expect(what, fact, said=""):
    print(("ok      " if fact else "FAILED  ") + what, flush=True)
    if not fact:
        failures.append(what)
        print(said)


def run(*command, **more):
    return subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def compile(name, text, *flags, headers=source / "include"):
    (work / f"{name}.cpp").write_text(text)
    done = run(*shlex.split(compiler), "-std=c++20", "-O1", f"-I{headers}", *flags, "-c", work / f"{name}.cpp", "-o", work / f"{name}.o")
    if done.returncode != 0:
        sys.exit(f"{name} does not compile:\n{done.stdout}")
    return work / f"{name}.o"


def try_link(name, *what):
    return run(*shlex.split(compiler), *what, "-Wl,--strip-debug", "-pthread", "-o", work / name)


def link(name, *what):
    done = try_link(name, *what)
    if done.returncode != 0:
        sys.exit(f"{name} does not link:\n{done.stdout}")
    return work / name


def start(program, *libraries, found=None):
    folders = f"{found or shared.parent}:{work}"
    return run(program, *libraries, env={**os.environ, "LD_LIBRARY_PATH": folders}, timeout=60)


def works(what, program, *libraries):
    done = start(program, *libraries)
    expect(f"{what}: works", done.returncode == 0, f"{done.returncode}: {done.stdout}")


def refused(what, program, *libraries, versions=(version,)):
    done = start(program, *libraries)
    lines = done.stdout.splitlines()
    clear = len(lines) == 1 and lines[0].startswith("weft: fatal: two copies of weft") and all(v in lines[0] for v in versions)
    expect(f"{what}: is refused in one line", done.returncode == 127 and clear, f"{done.returncode}: {done.stdout}")


def headers_of_next_version():
    folder = work / "next"
    shutil.copytree(source / "include", folder)
    file = folder / "weft/detail/abi.hpp"
    text = file.read_text()
    file.write_text(text.replace(f'"{version}"', f'"{next_version}"').replace(f"needs_weft_{major}_{minor}\n", f"{next_name}\n"))
    return folder


def check_one_copy_or_two_apart():
    works("a shared weft for program and library", link("all_shared", program, shared), user_shared)
    works("the same, with the library linked", link("all_shared_linked", linked, user_shared, shared))
    fixed = compile("fixed", PROGRAM, "-fno-pie")
    works("the same, in a program at a fixed address", link("all_shared_fixed", "-no-pie", fixed, shared), user_shared)
    closed = link("closed", program, static)
    works("a static weft in a program that exports nothing, and one in a library", closed, user_open)
    works("a static weft in such a program, and a shared one below a library that it opens", closed, user_shared)
    works("a static weft in a program that exports all, and one in a library that exports only its own function", exporting, user_closed)


def check_mixtures():
    refused("a program that is linked with the static weft and, for a library, with the shared one",
            link("mixed", "-Wl,--no-as-needed", linked, static, user_shared, shared))
    refused("a static weft in a program that exports all, and one in a library that does", exporting, user_open)
    half = link("libhalf.so", "-shared", user, static, "-Wl,--exclude-libs,ALL")
    refused("the same, with the library's copy hidden, and the inline functions of its user not", exporting, half)


def check_versions():
    headers = headers_of_next_version()
    later = compile("later", PROGRAM, "-fPIC", headers=headers)
    for kind, library in (("static", static), ("shared", shared)):
        done = try_link(f"later_{kind}", later, library)
        expect(f"headers of {next_version} and a {kind} library of {version} do not link, and the linker names {next_name}",
               done.returncode != 0 and next_name in done.stdout, done.stdout)
    copy = compile("later_abi", (source / "src/base/abi.cpp").read_text(), "-fPIC", "-DWEFT_BUILDING", headers=headers)
    user_later = compile("user_later", USER, "-fPIC", headers=headers)
    below_shared = link("below_shared", linked, user_shared, shared)
    both = (version, next_version)
    open_later = link("liblater.so", "-shared", user_later, copy, static)
    refused("a shared weft, and a static one of another version in a library that exports all", below_shared, open_later, versions=both)
    hidden_later = link("liblater_half.so", "-shared", user_later, copy, static, "-Wl,--exclude-libs,ALL")
    refused("the same, with the library's copy hidden, and the inline functions of its user not", exporting, hidden_later, versions=both)
    closed_later = link("liblater_closed.so", "-shared", user_later, copy, static, own_function_only)
    works("a shared weft, and a static one of another version in a library that exports only its own function", below_shared, closed_later)


def check_replaced_library():
    """A library that has this one's file name, and other versions of its names."""
    folder = work / "replaced"
    folder.mkdir()
    (work / "other.map").write_text(f"WEFT_{major}.{int(minor) + 1} {{ global: other; }};\n")
    link(f"replaced/{soname}", "-shared", compile("other", "extern \"C\" int other() { return 0; }\n", "-fPIC"), f"-Wl,-soname,{soname}",
         f"-Wl,--version-script,{work / 'other.map'}")
    done = start(work / "all_shared", found=folder)
    expect(f"a {soname} of another version is refused by the loader", done.returncode > 0 and f"version `WEFT_{abi}' not found" in done.stdout,
           f"{done.returncode}: {done.stdout}")


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
(work / "own_function.map").write_text("{ global: user_work; local: *; };\n")
own_function_only = f"-Wl,--version-script,{work / 'own_function.map'}"
program, linked = compile("program", PROGRAM, "-fPIC"), compile("linked", PROGRAM, "-fPIC", "-DLINKED")
user = compile("user", USER, "-fPIC")
exporting = link("exporting", "-rdynamic", program, static)
user_shared = link("libuser_shared.so", "-shared", user, shared, "-Wl,-soname,libuser_shared.so")
user_open = link("libuser_open.so", "-shared", user, static)
user_closed = link("libuser_closed.so", "-shared", user, static, own_function_only)
check_one_copy_or_two_apart()
check_mixtures()
check_versions()
check_replaced_library()
sys.exit(1 if failures else 0)

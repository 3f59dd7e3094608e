"""Lists what the shared libraries export, refuses what is not weft's, and looks that nothing is missing which programs need, and that the
static libraries above the core ask for its version.

    check_exports.py --nm NM --readelf READELF --version ABI --headers FOLDER --list FILE --objects FOLDER [--static LIBRARY]...
                     SHARED_LIBRARY...

FILE gets the exported names. Programs are the examples and the guide's: their objects lie below FOLDER/{guide,example}_*.dir, if they were
built. What they take from a static library must be exported by a shared one.
"""
import argparse
import importlib.machinery
import pathlib
import re
import subprocess
import sys

# Names of weft:: as the compiler spells them (the Itanium C++ ABI), of weft_ and of the version itself.
OURS = re.compile(r"weft_\w+|WEFT_(C_)?[\d.]+|_Z(GV|T[ISVT]|Thn\d+_|Tv\d+_n\d+_)?N[KRO]*4weft[0-9a-z].+")
# Functions of others that a library is made to stand before.
CALLS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_calls"
HOOKED = importlib.machinery.SourceFileLoader("check_calls", str(CALLS)).load_module().INTERPOSED
REPLACED = {"libweft_lockcheck": re.compile(r"pthread_(mutex|rwlock|spin)_\w+"), "libweft_reductions": re.compile(r"__cyg_profile_func_(enter|exit)"),
            "libweft_hooks": re.compile("|".join([*HOOKED, "setsockopt"]))}   # the last never waits, so weft may call it
# The C ABI (docs/design/capi.md): the number of its SONAME, and what its headers declare.
C_LIBRARY, C_ABI = "libweft_c", "0"
DECLARED = re.compile(r"WEFT_API\s+(?:WEFT_CHECK\s+)?[^;]*?\b(weft_\w+)\(")
failures = []


def expect(what, fact, said=""):
    print(("ok      " if fact else "FAILED  ") + what)
    if not fact:
        failures.append(what)
        print(said)


def is_ours(name, library=""):
    replaced = REPLACED.get(library.partition(".")[0])
    return bool(OURS.fullmatch(name) or (replaced and replaced.fullmatch(name)))


def check_itself():
    for name in ("_ZN4weft6detail5panicESt17basic_string_viewIcSt11char_traitsIcEES4_", "_ZNK4weft9fiber_ref4doneEv", "_ZTIN4weft9cancelledE",
                 "_ZTVN4weft6detail4taskE", "_ZThn16_N4weft6detail4taskD1Ev", "_ZN4weftlsERSoRKNS_8deadlockE",
                 "weft_debug_layout", "WEFT_0.1"):
        expect(f"{name} is weft's", is_ours(name))
    for name in ("_ZNSt6vectorIN4weft5valueESaIS1_EED1Ev", "_ZSt4moveIRN4weft5valueEE", "_ZN5wefts3runEv", "_ZN4weft", "pthread_mutex_lock",
                 "_ZN5boost5beast4http6parserD1Ev", "main", "redisReaderCreate", "_ZTSSt8functionIFvvEE"):
        expect(f"{name} is not", not is_ours(name))


def nm(*what):
    return [line.split() for line in subprocess.run([options.nm, *map(str, what)], text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()]


def exported(library):
    """The names with their versions."""
    return {words[-1] for words in nm("-D", "--defined-only", library) if len(words) == 3}


def demangled(names):
    return subprocess.run(["c++filt"], input="\n".join(names), text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()


def check_library(library):
    versioned = exported(library)
    names = {n.partition("@")[0] for n in versioned}
    foreign = sorted(n for n in names if not is_ours(n, library.name))
    expect(f"{library.name} exports {len(names)} names, all of them weft's", names and not foreign, demangled(foreign))
    dynamic = subprocess.run([options.readelf, "-d", library], text=True, stdout=subprocess.PIPE, check=True).stdout
    is_c = library.name.startswith(C_LIBRARY + ".")
    soname = f"{library.name.partition('.so')[0]}.so.{C_ABI if is_c else options.version}"
    expect(f"its SONAME is {soname}", f"[{soname}]" in dynamic, dynamic)
    if library.name.partition(".")[0] not in REPLACED:
        without = [n for n in versioned if "@" not in n and not n.startswith("WEFT_")]
        expect(f"its names have the version WEFT_{'C_' if is_c else ''}{options.version}", not without, without)
    if is_c:
        check_declared({n for n in names if n.startswith("weft_")})
        return set()   # the others are of C++
    return names


def check_declared(names):
    declared = set()
    for header in options.headers.glob("c*.h"):
        if header.name == "c_http.h" and "weft_http_create" not in names:
            continue   # weft::http was not built
        declared |= set(DECLARED.findall(re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)))
    expect(f"the headers of C declare these {len(names)} functions and no other", names == declared, sorted(names ^ declared))


def check_static_hooks(shared, archive):
    """src/hooks/linked/names.def has the name of each hook, so that the linker puts it before the C library's function."""
    wanted = {f"__wrap_{n.partition('@')[0]}" for n in exported(shared) if not is_ours(n.partition("@")[0])}
    found = {words[-1] for words in nm("--defined-only", archive) if len(words) == 3 and words[1] == "T" and not words[-1].startswith("_Z")}
    expect(f"{archive.name} has the {len(wanted)} hooks of {shared.name} under the names that --wrap calls", wanted and found - {"weft_take_hooks"} == wanted,
           sorted(found ^ wanted))


def check_needs(everything):
    objects = [o for kind in ("guide", "example") for o in options.objects.glob(f"{kind}_*.dir/**/*.o")]
    if not objects:
        print("        no example was built, so what they need is not compared")
        return
    needed = {words[-1] for words in nm("-u", *objects) if len(words) == 2 and is_ours(words[-1])}
    defined = {words[-1] for library in options.static for words in nm("--defined-only", library) if len(words) == 3 and words[1] in "TDBRV"}
    missing = sorted(needed & defined - everything)
    expect(f"{len(needed & defined)} names that {len(objects)} objects of examples need are exported", needed & defined and not missing,
           demangled(missing))


def check_version():
    """Of the static libraries the core has the name of the version, and all others ask for it (weft/detail/abi.hpp)."""
    name = f"needs_weft_{options.version.replace('.', '_')}"
    for library in options.static:
        kinds = {words[-2] for words in nm(library) if words and name in words[-1] and words[-2] in "TU"}
        core = library.name == "libweft.a"
        expect(f"{library.name} {'has' if core else 'asks for'} the name {name}", kinds == {"T" if core else "U"}, kinds)


parser = argparse.ArgumentParser()
for name in ("nm", "readelf", "version"):
    parser.add_argument("--" + name, required=True)
parser.add_argument("--headers", type=pathlib.Path, required=True)
parser.add_argument("--list", type=pathlib.Path, required=True)
parser.add_argument("--objects", type=pathlib.Path, required=True)
parser.add_argument("--static", type=pathlib.Path, action="append", default=[])
parser.add_argument("--static-hooks", type=pathlib.Path)
parser.add_argument("libraries", type=pathlib.Path, nargs="+")
options = parser.parse_args()

check_itself()
all_names = set()
for shared in options.libraries:
    all_names |= check_library(shared)
if options.static_hooks:
    check_static_hooks(next(l for l in options.libraries if l.name.startswith("libweft_hooks.")), options.static_hooks)
options.list.write_text("\n".join(sorted(demangled(all_names))) + "\n")
check_needs(all_names)
check_version()
sys.exit(1 if failures else 0)

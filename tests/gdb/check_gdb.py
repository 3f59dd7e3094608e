"""check_gdb.py - runs a program under gdb to its abort, looks at its fibers there, writes a core and looks at that.

    check_gdb.py GDB PROGRAM WORK

The script weft.py comes from the program itself: from its section .debug_gdb_scripts.
"""
import os
import pathlib
import platform
import re
import resource
import subprocess
import sys

LOOKS = ("weft fibers", "weft fibers --state running", "weft bt waiter", "weft locals waiter", "weft bt main", "weft bt all",
         "weft bt crowd", "weft bt 'inside a coroutine'", "weft bt nobody", "weft fiber waiter", "bt -5", "weft fiber 'a thread'", "bt", "print/x $fs_base", "weft fiber", "bt 1")


# As a printer of the standard library for an optional whose flag the compiler has left out.
PRINTER_THAT_FAILS = """python
class fails:
    def __init__(self, value):
        pass
    def to_string(self):
        raise gdb.error("value has been optimized out")
gdb.pretty_printers.append(lambda value: fails(value) if value.type.name and value.type.name.endswith("slip") else None)
end"""

NOT_IN_THIS_CORE = r"not in this core[^\n]*: gdb's generate-core-file and gcore leave them out; `weft core FILE`"


def gdb(program, *commands):
    here = pathlib.Path(program).resolve().parent
    words = [GDB, "-nx", "-batch", "-iex", f"add-auto-load-safe-path {here}", "-iex", "set debuginfod enabled off",
             "-ex", "set pagination off", "-ex", "set confirm off", "-ex", "set startup-with-shell off"]   # $SHELL may be anything
    for c in commands:
        words += ["-ex", c]
    r = subprocess.run([*words, program], capture_output=True, text=True, timeout=100, env=os.environ | {"LC_ALL": "C.UTF-8"})
    return r.stdout + r.stderr


def wants(text, where, *patterns):
    for p in patterns:
        if not re.search(p, text, re.M | re.S):
            sys.exit(f"{where}: nothing like {p!r} in\n{text}")


def part(text, look):
    """What a command printed: from its mark to the next."""
    return text.split(f"<<{look}>>\n", 1)[1].split("<<", 1)[0]


def check(text, where):
    fibers = part(text, "weft fibers")
    wants(fibers, where,
          r'^fiber \d+ "waiter" \([^()\n]*parked\.cpp:\d+\): waiting for channel receive at 0x[0-9a-f]+(?:, for at least|, for) \d+\.\d s',
          r'^fiber \d+ "left" [^\n]*: waiting for mutex at 0x[0-9a-f]+ of fiber \d+ "right", for',
          r'^fiber \d+ "right" [^\n]*: waiting for mutex at 0x[0-9a-f]+ of fiber \d+ "left", for',
          r'^fiber \d+ "guest\\x0afiber 1: \\x1b\[31m" [^\n]*: waiting for join at 0x[0-9a-f]+ of fiber \d+ "waiter", for',
          r'^fiber \d+ "crowd" [^\n]*: waiting for latch at 0x[0-9a-f]+, for',
          r'^fiber \d+ "main" [^\n]*: running on thread \d+',
          r"^10 of 10 fibers$",
          r'^these wait for one another: fiber \d+ "(left|right)", fiber \d+ "(left|right)"$')
    running = part(text, "weft fibers --state running")
    wants(running, where, r'\Afiber \d+ "main" [^\n]*\n1 of 10 fibers\n')
    wants(part(text, "weft bt waiter"), where, r"^  #\d+ .* in .*await_order[^\n]*\(table=4\)[^\n]* at .*parked\.cpp:\d+$", r"weft_context_base")
    wants(part(text, "weft locals waiter"), where, r"await_order.*^ +dishes = 43$", r"^ +kept = <optimized out>$")
    if "Python Exception" in text:
        sys.exit(f"{where}: gdb reports what a printer has met:\n{text}")
    wants(part(text, "weft bt main"), where, r"in .*abort.*in .*end_here")
    every = part(text, "weft bt all")
    wants(every, where, r"take_both[^\n]*\(first=", r"wait_for_ever", r"await_order",
          r'"crowd"[^\n]*\nfiber \d+ "crowd"[^\n]*\nfiber \d+ "crowd"[^\n]*\n  #0')
    wants(part(text, "weft bt 'inside a coroutine'"), where, r"wait_for_ever.*weft_context_base.*call_coroutine.*weft_context_base")
    wants(part(text, "weft bt crowd"), where, r"3 fibers are called crowd: \d+, \d+, \d+")
    wants(part(text, "weft bt nobody"), where, r"no fiber has the number or the name nobody")
    wants(part(text, "bt -5"), where, r"in weft_context_base")
    pointer = re.search(r"wait_as_thread \(thread_pointer=(0x[0-9a-f]+)\)", part(text, "bt"))
    if platform.machine() == "x86_64" and (not pointer or f"= {pointer[1]}\n" not in part(text, "print/x $fs_base")):
        sys.exit(f"{where}: the thread pointer of a fiber that is a thread is not shown:\n{text}")
    if "await_order" in part(text, "bt 1"):
        sys.exit(f"{where}: the thread is not shown again")


def check_without_stacks(text):
    """A core by gdb alone. Where it has the stacks all the same, it is as good as the others."""
    fibers = part(text, "weft fibers")
    if not re.search(NOT_IN_THIS_CORE, fibers):
        check(text, "core by gdb alone")
        return "whole"
    where = "core without stacks"
    wants(fibers, where, r"^stacks of 9 fibers are " + NOT_IN_THIS_CORE)
    for look in ("weft bt waiter", "weft locals waiter", "weft bt all", "weft bt 'inside a coroutine'", "weft fiber waiter"):
        wants(part(text, look), where, r"no stack: it is " + NOT_IN_THIS_CORE)
    wants(part(text, "weft bt main"), where, r"^  #0 [^\n]*\n  the rest of it is " + NOT_IN_THIS_CORE)
    for look in LOOKS:
        if look.startswith("weft") and re.search(r"0x0+ in \?\?|Python Exception", part(text, look)):
            sys.exit(f"{where}: {look} shows what is not there:\n{text}")
    return "said to be without stacks"


def looks():
    yield PRINTER_THAT_FAILS
    for look in LOOKS:
        yield f"echo <<{look}>>\\n"
        yield f"python\ntry:\n    gdb.execute({look!r})\nexcept gdb.error as e:\n    print(e)\nend"


def main():
    program, work = str(pathlib.Path(sys.argv[2]).resolve()), pathlib.Path(sys.argv[3]).resolve()
    work.mkdir(parents=True, exist_ok=True)
    core, plain = work / "core", work / "core-without-stacks"
    for old in (core, plain):
        old.unlink(missing_ok=True)
    script = work / "looks.gdb"
    script.write_text("\n".join(looks()) + "\n")
    live = gdb(program, "handle SIGSEGV nostop noprint pass", "run", f"source {script}", f"weft core {core}", f"generate-core-file {plain}", "kill")
    if re.search(r"ptrace: Operation not permitted|Could not trace the inferior|Couldn't get CS register", live):
        print("left out: this system lets nobody be traced:\n" + live)
        return
    wants(live, "live", r"SIGABRT")
    check(live, "live")
    check(gdb(program, f"core-file {core}", f"source {script}"), "core by gdb")
    core.unlink()
    print("live process and core written by gdb: as expected")
    print("core written by gdb alone:", check_without_stacks(gdb(program, f"core-file {plain}", f"source {script}")))
    plain.unlink()
    check_core_of_kernel(program, work, core, script)


def check_core_of_kernel(program, work, core, script):
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern != "core" or pathlib.Path("/proc/sys/kernel/core_uses_pid").read_text().strip() != "0":
        print(f"core written by the kernel: left out, it goes elsewhere (core_pattern is {pattern})")
        return
    subprocess.run([program], cwd=work, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)), timeout=60)
    check(gdb(program, f"core-file {core}", f"source {script}"), "core by the kernel")
    core.unlink()
    print("core written by the kernel: as expected")


GDB = sys.argv[1]
main()

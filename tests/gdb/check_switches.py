"""check_switches.py - steps through every switch of a program with gdb, and looks at the callers at each instruction.

    check_switches.py GDB PROGRAM [EMULATOR ARGUMENT...]

With an emulator (qemu-user) the program runs there and gdb steps it from outside; so this looks at processors that have no trap flag
here. gdb's unwinder is not the compiler's, which tests/arch/unwind_test.cpp uses.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import gdb
except ImportError:
    gdb = None

KINDS = {"weft_switch_context": 5, "weft_hop_context": 2, "weft_jump_context": 2, "weft_call_from_context": 1}  # from runs_on_main to the end
PRESERVED = {"x86-64": ["rbx", "rbp", "r12", "r13", "r14", "r15"],
             "aarch64": [f"x{n}" for n in range(19, 30)] + [f"v{n}" for n in range(8, 16)]}


# ---- outside

def run(debugger, program, emulator):
    words = [debugger, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set pagination off", "-ex", "set confirm off",
             "-ex", "set width 0", "-ex", "set startup-with-shell off"]   # $SHELL may be anything
    with tempfile.TemporaryDirectory() as work:
        other = None
        if emulator:
            socket = pathlib.Path(work) / "gdb"
            other = subprocess.Popen([*emulator[:1], "-g", str(socket), *emulator[1:], program])
            while not socket.exists():
                if other.poll() is not None:
                    sys.exit(f"{emulator[0]} ended with {other.returncode}")
            words += ["-ex", f"target remote {socket}", "-ex", "break main", "-ex", "continue"]
        else:
            words += ["-ex", "break main", "-ex", "run"]
        try:
            done = subprocess.run([*words, "-x", __file__, program], capture_output=True, text=True, timeout=250,
                                  env=os.environ | {"LC_ALL": "C.UTF-8"})
        finally:
            if other:
                other.kill()
                other.wait()
    print("".join(line + "\n" for line in done.stdout.splitlines() if line.startswith(("judge: ", "all switches"))))
    if re.search(r"ptrace: Operation not permitted|Could not trace the inferior|Couldn't get CS register", done.stdout + done.stderr):
        print("left out: this system lets nobody be traced")
        return
    if "all switches have right callers" not in done.stdout:
        sys.exit(f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}\nnot all switches have right callers")


# ---- inside gdb

def value(text):
    return int(gdb.parse_and_eval(text))


def read(frame, register):
    found = frame.read_register(register)
    # Of a vector register a call preserves the lower half. Its own name, d8, will not do: gdb 13
    # reads that of the innermost frame, as it does of v8 where there are longer vectors.
    return str(found["d"]["u"][0] if register[0] == "v" else found)


class callers:
    """Of the innermost frame: the addresses where they go on, their stack pointers, and the registers of the first."""

    def __init__(self, preserved):
        frame = gdb.newest_frame()
        self.at, self.stack = frame.pc(), int(frame.read_register("sp"))
        self.code, self.stacks, self.names, self.registers = [], [], [], None
        while True:
            older = frame.older()
            if older is None:
                break
            if self.registers is None:
                self.registers = [read(older, r) for r in preserved]
            self.code.append(older.pc())
            self.stacks.append(int(older.read_register("sp")))
            self.names.append(older.name())
            frame = older
        self.end = frame.unwind_stop_reason()

    def key(self):
        return self.code, self.stacks, self.registers

    def difference(self, other):
        """What other has instead."""
        return [pair for pair in zip([*self.code, *self.stacks, *self.registers], [*other.code, *other.stacks, *other.registers])
                if pair[0] != pair[1]][:4]


class judge:
    def __init__(self):
        arch = gdb.selected_frame().architecture().name()
        self.preserved = PRESERVED["aarch64" if "aarch64" in arch else "x86-64"]
        self.first = value("(long)&weft_switch_context")
        self.base = value("(long)&weft_context_base")
        self.last = self.base + 32
        self.faults, self.instructions, self.left, self.as_left = 0, 0, {}, 0

    def wants(self, right, what, c, other=None):
        if right:
            return
        self.faults += 1
        if self.faults <= 20:
            names = [re.sub(r".*::|<.*|\(.*", "", n or "?") for n in c.names]
            print(f"judge: at weft_switch_context+{c.at - self.first}: {what}: {' < '.join(names)}"
                  + (f"; not {c.difference(other)}" if other else ""))

    def passage(self):
        """From the first instruction of a switch to the first one elsewhere."""
        parts, before = [[], []], None
        while self.first <= gdb.newest_frame().pc() < self.last:
            c = callers(self.preserved)
            side = 1 if parts[1] or (before and abs(c.stack - before.stack) > 1024) else 0
            parts[side].append(c)
            before = c
            gdb.execute("stepi", to_string=True)
        self.instructions += len(parts[0]) + len(parts[1])
        return parts, gdb.newest_frame().pc()

    def in_base(self, at):
        return self.base <= at < self.last

    def part(self, part, wanted, what):
        for c in part:
            self.wants(c.end == gdb.FRAME_UNWIND_OUTERMOST, what + ", the chain breaks", c)
            if self.in_base(c.at):
                self.wants(c.code == [], what + ", the base has callers", c)
            else:
                self.wants(c.key() == wanted.key(), what + ", other callers", c, wanted)
                self.wants(c.names[-1] == ("weft_not_begun" if c.code == [self.base] else "weft_context_base"), what + ", no base", c)

    def switch(self):
        (leaving, arriving), then = self.passage()
        mine = leaving[0]
        self.wants(any("leaves_" in (n or "") or "runs_on_" in (n or "") for n in mine.names), "unknown callers", mine)
        self.part(leaving, mine, "leaving")
        self.left[mine.stacks[0]] = mine.key()
        if not arriving:
            return
        if self.in_base(arriving[-1].at):
            self.part(arriving, arriving[0], "beginning")
            return
        theirs = arriving[-1]
        self.part(arriving, theirs, "arriving")
        self.wants(then == theirs.code[0], "goes on elsewhere", theirs)
        if theirs.stacks[0] in self.left:
            self.as_left += 1
            self.wants(self.left[theirs.stacks[0]] == theirs.key(), "not as it was left", theirs)

    def call(self):
        """weft_call_from_context up to its call: first its own callers, then those of the left stack."""
        (steps, _), _ = self.passage()
        own = steps[0]
        others = [c for c in steps if c.key() != own.key()]
        self.wants(2 <= len(others) <= len(steps) - 2 and steps[-len(others):] == others, "the callers change elsewhere", own)
        for c in others:
            self.wants(c.key() in self.left.values(), "not those of the left stack", c)
            self.wants(c.end == gdb.FRAME_UNWIND_OUTERMOST, "the chain breaks", c)


def inside():
    gdb.execute("delete")
    gdb.execute("break all_switches_done", to_string=True)
    gdb.execute("break runs_on_main", to_string=True)
    gdb.execute("continue", to_string=True)
    seen = dict.fromkeys(KINDS, 0)
    starts = {}
    for name in KINDS:
        at = value(f"(long)&{name}")
        if at not in starts:   # on aarch64 a hop is a switch
            starts[at] = name
            gdb.execute(f"break *{at}", to_string=True)
    j = judge()
    while True:
        gdb.execute("continue", to_string=True)
        at = gdb.newest_frame().pc()
        if at not in starts:
            break
        seen[starts[at]] += 1
        last = seen["weft_jump_context"] == 2
        if last:   # to main's own stack, whose callers end in the C library's way
            continue
        j.call() if starts[at] == "weft_call_from_context" else j.switch()
    expected = {k: n for k, n in KINDS.items() if k in starts.values()}
    if "weft_hop_context" not in expected:
        expected["weft_switch_context"] += KINDS["weft_hop_context"]
    print(f"judge: {j.instructions} instructions, switches {seen}, {j.as_left} stacks found as they were left")
    if j.faults == 0 and expected == {k: n for k, n in seen.items() if k in expected} and j.as_left >= 7:
        print("all switches have right callers")


if gdb:
    inside()
elif __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3:])

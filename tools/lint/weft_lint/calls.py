"""Who calls whom, which functions may park, and which return an address of this thread's: over all files that were given."""
import re

import capstone

from . import flow, names

# The switch of stacks. Whatever reaches it may go on on another thread.
SWITCHES = {"weft_switch_context", "weft_hop_context"}
# These run the body of another fiber, an indirect call, and that may park.
RUNS_OTHERS = re.compile(r"carrier13join_in_place|carrier10run_inline")
# This switches in a simulated runtime only, which has one thread: nobody goes on on another.
STAYS = re.compile(r"^_ZN4weft6detail10switch_nowEv")
# Functions of the system that return an address which belongs to the calling thread.
PER_THREAD = {"__errno_location": "errno", "__h_errno_location": "h_errno", "__tls_get_addr": "a thread_local",
              "___tls_get_addr": "a thread_local", "__cxa_get_globals": "the exception state",
              "__cxa_get_globals_fast": "the exception state"}
WRAPPER = re.compile(r"^_ZTW")      # of a thread_local that is initialized on first use
NO_RETURN = re.compile(r"^(abort|exit|_exit|__stack_chk_fail|__assert_fail|_Unwind_Resume|__cxa_throw|__cxa_rethrow|"
                       r"__cxa_call_unexpected|__cxa_throw_bad_array_new_length|_ZSt\d+__throw_\w+|_ZSt9terminatev|"
                       r"__clang_call_terminate|weft_jump_context|_ZN4weft6detail5panicE\w+)$")
THREAD_POINTER = "fs:[0]"
JUMP = re.compile(r"^j|^loop")
THROUGH = re.compile(r"qword ptr \[rip (\+|-) (0x[0-9a-f]+|\d+)\]")


ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")


def most_parameters(name):
    """How many registers a function of that name may be handed: those of its signature, `this`, and where to put the result."""
    text = names.demangled(name)
    if text == name:
        return len(ARGUMENTS)
    depth, count = 0, 0
    for at, c in enumerate(text):
        depth += (c in "<([{") - (c in ">)]}")
        count += c == "," and depth == 1
    return min(len(ARGUMENTS), count + 3)


def number(text):
    return int(text, 0)


class target:
    """Of a call or of a jump that leaves the function: a name, a function of the same file, both, or neither (indirect)."""
    __slots__ = ("name", "function")

    def __init__(self, name=None, function=None):
        self.name, self.function = name, function

    @property
    def indirect(self):
        return self.name is None and self.function is None


class program:
    def __init__(self, images, parking, indirect):
        self.images, self.indirect = images, indirect
        self.decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self.callees = {}              # function -> set of targets' keys: names and functions
        self.takes = set()             # functions that take an address of this thread's themselves
        self.returning = {}            # function or name -> what its result is: settled by the caller
        for image in images:
            self._read(image)
        self.known_to_keep = {}
        roots = {f.name for f in self.callees if RUNS_OTHERS.search(f.name)} | SWITCHES
        self.parking = self._reach(roots | set(parking))

    # ---- reading

    def _read(self, image):
        for base, code in image.stub_sections():
            image.learn_stubs(self._stubs(base, code))
        for f in image.functions:
            f.image = image
            keys = set()
            for at, code in f.parts:
                for address, size, mnemonic, operands in self.decoder.disasm_lite(code, at):
                    if THREAD_POINTER in operands:
                        self.takes.add(f)
                    if mnemonic.split()[-1] == "call" or JUMP.match(mnemonic):
                        t = self.target_of(image, f, address, size, operands)
                        if t is not None:
                            keys |= self._keys(t)
                            if t.name in PER_THREAD or (t.name and WRAPPER.match(t.name)):
                                self.takes.add(f)
            self.callees[f] = set() if STAYS.match(f.name) else keys

    def _stubs(self, base, code):
        for address, size, mnemonic, operands in self.decoder.disasm_lite(code, base):
            found = THROUGH.search(operands) if mnemonic.endswith("jmp") else None
            if found:
                yield address & ~15, address + size + number(found[1] + found[2])

    def _keys(self, t):
        keys = {k for k in (t.name, t.function) if k is not None}
        return keys or ({"an indirect call"} if self.indirect else set())

    def target_of(self, image, f, address, size, operands):
        """Whom the call or jump leads to; None: to a place inside the function."""
        named = image.named_in(address, size)
        if named is not None:
            name, at = named
            if at is None:
                return target(name)
            inside = image.function_at(at)
            if inside is f and at != f.entry:
                return None
            return target(name, image.by_entry.get(at, inside))
        if operands.startswith("0x") or operands.isdigit():
            to = number(operands)
            if f.holds(to) and to != f.entry:
                return None
            if to in image.stubs:
                return target(image.stubs[to])
            inside = image.function_at(to)
            return target(inside.name if inside else None, inside) if inside else None
        through = THROUGH.search(operands)
        if through:
            slot = address + size + number(through[1] + through[2])
            if slot in image.slots:
                return target(image.slots[slot])
        return target()

    # ---- what follows from the graph

    def _reach(self, roots):
        """All functions, and names of functions, from which a root is reached by direct calls."""
        if self.indirect:
            roots = roots | {"an indirect call"}
        callers, named = {}, {}
        for f, keys in self.callees.items():
            named.setdefault(f.name, []).append(f)
            for k in keys:
                callers.setdefault(k, []).append(f)
        for image in self.images:
            for name, f in image.aliases.items():
                if f.is_global:
                    named.setdefault(name, []).append(f)
        names_of = {}
        for name, functions in named.items():
            for f in functions:
                names_of.setdefault(f, set()).add(name)
        found, work = set(), list(roots)
        for name in roots:
            work += named.get(name, [])
        while work:
            k = work.pop()
            if k in found:
                continue
            found.add(k)
            work += callers.get(k, [])
            if not isinstance(k, str):
                work += [n for n in names_of.get(k, ()) if k.is_global]
        return found

    def may_park(self, t):
        if t.indirect:
            return self.indirect
        return t.name in self.parking or t.function in self.parking

    def keeps(self, t, register):
        """Whether a call that parks may use, afterwards, what it is handed in that register."""
        if t.name in SWITCHES:
            return False
        if t.function is not None:
            return flow.keeps(self, t.function, register, self.known_to_keep)
        return t.name is None or ARGUMENTS.index(register) < most_parameters(t.name)

    def reaches_park(self, f):
        return any(k in self.parking for k in self.callees[f])

    def taken_by(self, t):
        """What of this thread's the call returns the address of, or None."""
        if t.name in PER_THREAD:
            return PER_THREAD[t.name]
        if t.name and WRAPPER.match(t.name):
            return "thread_local " + t.name[4:]
        return self.returning.get(t.function) or self.returning.get(t.name)

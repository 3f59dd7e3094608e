"""Follows addresses of this thread's through one function: registers and stack slots, all paths, no memory.

A value is ("stack", offset), which finds the slots, or ("thread", origins): origins are pairs of the instruction that took the address
and the call over which it was kept, or None as long as there was none.
"""
import capstone
from capstone import x86_const as x86

from . import calls

HANDED_IN = 0        # stands for the caller's instruction that took the address
KEPT = {"rbx", "rbp", "r12", "r13", "r14", "r15", "rsp"}


def wide_names():
    names = {}
    for wide, others in {"rax": "eax ax al ah", "rbx": "ebx bx bl bh", "rcx": "ecx cx cl ch", "rdx": "edx dx dl dh", "rsi": "esi si sil",
                         "rdi": "edi di dil", "rbp": "ebp bp bpl", "rsp": "esp sp spl"}.items():
        names.update({n: wide for n in [wide, *others.split()]})
    for n in range(8, 16):
        names.update({f"r{n}{suffix}": f"r{n}" for suffix in ("", "d", "w", "b")})
    return names


WIDE = wide_names()


class finding:
    def __init__(self, f, taken, what, park, calls, use, how):
        self.function, self.taken, self.what, self.park, self.calls, self.use, self.how = f, taken, what, park, calls, use, how


class state(dict):
    """Of registers (by name) and slots (by offset from the stack pointer at the entry)."""

    def merge(self, other):
        """Takes in another path. \\returns whether anything is new."""
        changed = False
        for key in set(self) | set(other):
            mine, theirs = self.get(key), other.get(key)
            if mine == theirs:
                continue
            if mine and theirs and mine[0] == theirs[0] == "thread":
                new = ("thread", mine[1] | theirs[1])
            else:
                new = next((v for v in (mine, theirs) if v and v[0] == "thread"), None)
            if new != mine:
                changed = True
                self[key] = new
        return changed


class walk:
    def __init__(self, program, f, argument=None):
        self.program, self.f, self.image, self.argument = program, f, f.image, argument
        decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        decoder.detail = True
        self.code = {}
        self.following = {}
        for at, code in f.parts:
            last = None
            for i in decoder.disasm(code, at):
                self.code[i.address] = i
                if last is not None:
                    self.following[last] = i.address
                last = i.address
        self.name_of = decoder.reg_name
        self.findings = {}
        self.what = {}                 # instruction that took an address -> of what
        self.calls = {}                # call that parks -> whom
        self.returned = set()
        self._find_edges()

    # ---- paths

    def _find_edges(self):
        self.targets, leaders, reached = {}, {self.f.entry}, {self.f.entry}
        self.tables = []               # jumps through a register or a table
        for at, i in self.code.items():
            if not (i.group(capstone.CS_GRP_JUMP) or i.mnemonic.startswith("loop")):
                if i.group(capstone.CS_GRP_RET) and at in self.following:
                    leaders.add(self.following[at])
                continue
            if at in self.following:
                leaders.add(self.following[at])
                if i.id != x86.X86_INS_JMP:
                    reached.add(self.following[at])
            to = self._jump_target(i)
            if to is not None and to in self.code:
                self.targets[at] = to
                leaders.add(to)
                reached.add(to)
            elif to is None and i.op_str[:2] != "0x" and self.image.named_in(at, i.size) is None:
                self.tables.append(at)
        self.pads = self.image.landing_pads(self.f)
        for _, _, pad in self.pads or []:
            leaders.add(pad)
            reached.add(pad)
        self.leaders = leaders
        self.unknown = {a for a in leaders - reached if a in self.code}

    def _jump_target(self, i):
        named = self.image.named_in(i.address, i.size)
        if named is not None:
            return named[1] if named[1] in self.code else None
        return i.operands[0].imm if i.operands and i.operands[0].type == x86.X86_OP_IMM else None

    def run(self):
        first = state(rsp=("stack", 0))
        if self.argument:
            first[self.argument] = ("thread", frozenset({(HANDED_IN, None)}))
        entries = {self.f.entry: first}
        work = [self.f.entry]

        def arrive(to, s):
            if to not in self.code:
                return
            if to not in entries:
                entries[to] = state(s)
                work.append(to)
            elif entries[to].merge(s):
                work.append(to)

        while work:
            at = work.pop()
            s = state(entries[at])
            while True:
                i = self.code[at]
                self._step(i, s, arrive)
                if i.group(capstone.CS_GRP_JUMP) or i.mnemonic.startswith("loop"):
                    if at in self.targets:
                        arrive(self.targets[at], s)
                    if at in self.tables:
                        for to in self.unknown:
                            arrive(to, s)
                    if i.id == x86.X86_INS_JMP:
                        break
                if i.group(capstone.CS_GRP_RET) or i.id in (x86.X86_INS_UD2, x86.X86_INS_HLT) or self._ends(i):
                    break
                if at not in self.following:
                    break
                at = self.following[at]
                if at in self.leaders:
                    arrive(at, s)
                    break
        return self

    def _ends(self, i):
        return i.address in self.calls_that_end

    calls_that_end = frozenset()

    # ---- one instruction

    def _step(self, i, s, arrive):
        if i.group(capstone.CS_GRP_CALL):
            return self._call(i, s, arrive)
        if i.group(capstone.CS_GRP_RET):
            return self._use(i, s.get("rax"), "returns it", returns=True)
        if i.id == x86.X86_INS_NOP:
            return None
        if i.id == x86.X86_INS_JMP and i.address not in self.targets:
            self._tail_call(i, s)
        if i.id != x86.X86_INS_LEA:
            for o in i.operands:
                if o.type == x86.X86_OP_MEM:
                    self._use(i, self._value(s, o.mem.base), "reads or writes there")
                    self._use(i, self._value(s, o.mem.index), "reads or writes there")
        return self._move(i, s)

    def _value(self, s, register):
        return s.get(WIDE.get(self.name_of(register))) if register else None

    def _slot(self, s, o):
        base = self._value(s, o.mem.base)
        return base[1] + o.mem.disp if base and base[0] == "stack" and not o.mem.index else None

    def _is_thread_pointer(self, o):
        m = o.mem
        return o.type == x86.X86_OP_MEM and m.segment == x86.X86_REG_FS and not m.base and not m.index and m.disp == 0

    def _load(self, s, i, o):
        if o.type == x86.X86_OP_REG:
            return self._value(s, o.reg)
        if o.type != x86.X86_OP_MEM:
            return None
        if self._is_thread_pointer(o):
            self.what.setdefault(i.address, "a thread_local")
            return ("thread", frozenset({(i.address, None)}))
        slot = self._slot(s, o)
        return s.get(slot) if slot is not None else None

    def _store(self, s, i, o, value):
        if o.type == x86.X86_OP_REG:
            name = WIDE.get(self.name_of(o.reg))
            if name:
                s[name] = value if o.size == 8 else None
            return
        slot = self._slot(s, o)
        if slot is not None:
            s[slot] = value if o.size == 8 else None
        else:
            self._use(i, value, "stores it")

    def _move(self, i, s):
        ops = i.operands
        m = i.id
        if m in (x86.X86_INS_MOV, x86.X86_INS_MOVABS) and len(ops) == 2:
            self._store(s, i, ops[0], self._load(s, i, ops[1]))
        elif m == x86.X86_INS_LEA:
            self._store(s, i, ops[0], self._address(i, s, ops[1]))
        elif m in (x86.X86_INS_ADD, x86.X86_INS_SUB, x86.X86_INS_AND, x86.X86_INS_OR) and len(ops) == 2:
            self._arithmetic(i, s, ops, m)
        elif m == x86.X86_INS_PUSH:
            self._shift(s, -8)
            top = s.get("rsp")
            value = self._load(s, i, ops[0])
            if top:
                s[top[1]] = value
        elif m == x86.X86_INS_POP:
            top = s.get("rsp")
            self._store(s, i, ops[0], s.get(top[1]) if top else None)
            self._shift(s, 8)
        elif m == x86.X86_INS_LEAVE:
            s["rsp"] = s.get("rbp")
            top = s.get("rsp")
            s["rbp"] = s.get(top[1]) if top and top[0] == "stack" else None
            self._shift(s, 8)
        elif m == x86.X86_INS_XCHG and len(ops) == 2:
            first, second = self._load(s, i, ops[0]), self._load(s, i, ops[1])
            self._store(s, i, ops[0], second)
            self._store(s, i, ops[1], first)
        elif i.mnemonic.startswith("cmov"):
            either = state(v=self._load(s, i, ops[0]))
            either.merge(state(v=self._load(s, i, ops[1])))
            self._store(s, i, ops[0], either["v"])
        elif m not in (x86.X86_INS_CMP, x86.X86_INS_TEST):
            for register in i.regs_access()[1]:
                name = WIDE.get(self.name_of(register))
                if name and name != "rsp":
                    s[name] = None

    def _shift(self, s, by):
        top = s.get("rsp")
        s["rsp"] = ("stack", top[1] + by) if top and top[0] == "stack" else None

    def _address(self, i, s, o):
        base, index = self._value(s, o.mem.base), self._value(s, o.mem.index)
        if base and base[0] == "stack":
            return ("stack", base[1] + o.mem.disp) if not o.mem.index else None
        for v in (base, index):
            if v and v[0] == "thread":
                self._name(v, o.mem.disp)
                return v
        return None

    def _name(self, value, offset):
        name = self.image.tls_name(offset)
        for taken, _ in value[1]:
            if name and self.what.get(taken) == "a thread_local":
                self.what[taken] = "thread_local " + name

    def _arithmetic(self, i, s, ops, m):
        before, other = self._load(s, i, ops[0]), self._load(s, i, ops[1])
        value = None
        if before and before[0] == "stack":
            if ops[1].type == x86.X86_OP_IMM:
                by = {x86.X86_INS_ADD: ops[1].imm, x86.X86_INS_SUB: -ops[1].imm}.get(m, 0)   # and: alignment, as if it changed nothing
                value = ("stack", before[1] + by)
        elif before and before[0] == "thread":
            value = before
            if ops[1].type == x86.X86_OP_IMM:
                self._name(before, ops[1].imm if m == x86.X86_INS_ADD else -ops[1].imm)
        elif other and other[0] == "thread" and m == x86.X86_INS_ADD:
            value = other
        if ops[0].type == x86.X86_OP_REG or value is not None or self._slot(s, ops[0]) is not None:
            self._store(s, i, ops[0], value)

    # ---- calls and uses

    def _call(self, i, s, arrive):
        for o in i.operands:
            if o.type == x86.X86_OP_MEM:
                self._use(i, self._value(s, o.mem.base), "calls through it")
        t = self.program.target_of(self.image, self.f, i.address, i.size, i.op_str)
        parks = t is not None and self.program.may_park(t)
        for r in calls.ARGUMENTS:
            self._use(i, s.get(r), "passes it on")
            if parks:
                self._hands_over(i, s.get(r), t, r)
        if parks:
            self.calls[i.address] = t
            for key, v in list(s.items()):
                if v and v[0] == "thread":
                    s[key] = ("thread", frozenset((taken, park or i.address) for taken, park in v[1]))
        for key in [k for k in s if isinstance(k, str) and k not in KEPT]:
            s[key] = None
        for pad in self._pads_of(i):
            arrive(pad, s)
        what = self.program.taken_by(t) if t is not None else None
        if what is not None:
            self.what[i.address] = what
            s["rax"] = ("thread", frozenset({(i.address, None)}))
        if t is not None and t.name and calls.NO_RETURN.match(t.name):
            self.calls_that_end = self.calls_that_end | {i.address}

    def _tail_call(self, i, s):
        t = self.program.target_of(self.image, self.f, i.address, i.size, i.op_str)
        if t is None or (t.indirect and i.address in self.tables):
            return
        for r in calls.ARGUMENTS:
            self._use(i, s.get(r), "passes it on")
            if self.program.may_park(t):
                self._hands_over(i, s.get(r), t, r)

    def _pads_of(self, i):
        if self.pads is None:
            return self.unknown
        return [pad for first, last, pad in self.pads if first <= i.address < last]

    def _use(self, i, value, how, returns=False):
        if not value or value[0] != "thread":
            return
        for taken, park in value[1]:
            if returns:
                self.returned.add(taken)
            if park is not None:
                self._found(taken, park, i.address, how)

    def _hands_over(self, i, value, t, r):
        if value and value[0] == "thread" and self.program.keeps(t, r):
            for taken, park in value[1]:
                if park is None:
                    self.calls[i.address] = t
                    self._found(taken, i.address, i.address, "hands it to that call")

    def _found(self, taken, park, use, how):
        key = (taken, park)
        if key not in self.findings or use < self.findings[key][0]:
            self.findings[key] = (use, how)

    def result(self):
        return [finding(self.f, taken, self.what.get(taken, "a thread_local"), park, self.calls[park], use, how)
                for (taken, park), (use, how) in sorted(self.findings.items())]


def keeps(program, f, argument, known):
    """Whether the function may use, after a park, what its caller hands it in that register."""
    if (f, argument) not in known:
        known[f, argument] = False     # of a function that calls itself: what the rest of it says
        known[f, argument] = any(taken == HANDED_IN for taken, _ in walk(program, f, argument).run().findings)
    return known[f, argument]


def analyse(program):
    """All findings. First settles which functions return an address of this thread's: who calls those takes one, too."""
    candidates, walks = set(program.takes), {}
    while True:
        for f in candidates:
            if f not in walks:
                walks[f] = walk(program, f).run()
        fresh = {f for f, w in walks.items() if w.returned and f not in program.returning}
        if not fresh:
            break
        for f in fresh:
            what = walks[f].what[min(walks[f].returned)]
            program.returning[f] = what
            if f.is_global:
                program.returning[f.name] = what
        keys = fresh | {f.name for f in fresh if f.is_global}
        for f, callees in program.callees.items():
            if callees & keys:
                candidates.add(f)
                walks.pop(f, None)
    return [x for f, w in walks.items() if program.reaches_park(f) for x in w.result()]

"""weft.py - gdb commands for weft's fibers, in a live process and on a core file.

    weft fibers [--state STATE]    every fiber: what it is, what it waits for, who has that, since when
    weft bt ID|NAME|all            its stack; of all, each stack once
    weft locals ID|NAME            the same with arguments and variables
    weft core FILE                 writes a core with their stacks; generate-core-file and gcore leave them out (see CoreCommand)
    weft fiber [ID|NAME]           lets backtrace, up, down, info locals and the like show that fiber; without ID, the thread again

Nothing is called in the process, and nothing is written to it. Fibers are found through the table weft_debug_layout
(src/runtime/dump/debug_layout.cpp), so that weft itself needs no debug information; the program's own is needed for its variables.

How a stack that no thread runs on is shown: an unwinder says of the innermost frame of the selected thread that its caller is the place
where the fiber has left its stack. gdb goes on from there by itself.
"""
import collections
import contextlib
import itertools
import re
import struct
import time

import gdb
import gdb.unwinder

STATES = ("created", "runnable", "running", "waiting")


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def unsigned(data, offset, size):
    return int.from_bytes(data[offset:offset + size], "little")


def signed(data):
    return int.from_bytes(data, "little", signed=True)


def word_at(address):
    return unsigned(read(address, 8), 0, 8)


def text_at(address, most=4096):
    """A text that ends with a zero, read in pieces that cross no page."""
    found = b""
    while len(found) < most:
        piece = read(address, 256 - address % 256)
        found += piece
        address += len(piece)
        if b"\0" in piece:
            break
    return found.split(b"\0")[0].decode(errors="replace")


def elements(vector):
    """The pointers in a std::vector of pointers or unique_ptrs."""
    begin, end = struct.unpack("<QQ", read(vector, 16))
    return struct.unpack(f"<{(end - begin) // 8}Q", read(begin, end - begin)) if end > begin else ()


def read_layout():
    try:
        at = int(gdb.parse_and_eval("(unsigned long)&weft_debug_layout"))
    except gdb.error:
        raise gdb.GdbError("weft: this program has no weft, or its symbols were stripped")
    layout = {}
    try:
        while True:
            name, value = struct.unpack("<QQ", read(at, 16))
            if name == 0:
                break
            layout[text_at(name)] = value
            at += 16
    except gdb.MemoryError:
        raise gdb.GdbError("weft: the process does not run yet, or the core file lacks its data")
    if layout.get("version", 2) != 2:
        raise gdb.GdbError(f"weft: this script does not fit the program (layout {layout['version']})")
    return layout


def printable(name):
    """As add_printable() of base/in_quotes.hpp."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda control: "".join(f"\\x{b:02x}" for b in control.group().encode()), name)


Kind = collections.namedtuple("Kind", "name held_at offset")  # of wait: wait_kind.hpp


class Fiber:
    """What is read of one control block."""

    def __init__(self, process, block, data, rest, rest_data):
        p = process.layout
        self.block = block
        self.rest = rest
        self.generation = unsigned(data, p["block.generation"], 4)
        self.id = unsigned(data, p["block.index"], 4) + 1 | self.generation << 32  # as id_of() of scheduler.cpp
        self.name = ""
        if unsigned(data, p["block.marks"], 1) & p["marks.named"]:
            raw = rest_data[p["cold.name"]:p["cold.name"] + p["cold.name_bytes"]]
            self.name = raw.split(b"\0")[0].decode(errors="replace")
        self.site = process.site(unsigned(data, p["block.site"], 8))
        self.home = unsigned(data, p["block.home"], 8)  # the description of its stack
        self.has_started = self.home != 0
        self.sp = unsigned(data, p["block.sp"], 8)
        self.thread = 0  # that runs it
        self.in_place = unsigned(rest_data, p["cold.in_place"], 8)
        self.coroutine = unsigned(rest_data, p["cold.coroutine"], 8)  # the innermost that runs inside it
        word = unsigned(rest_data, p["cold.word"], 8) & p["word.state_mask"]
        phase = unsigned(data, p["block.phase"], 1)
        self.waits = word != 0
        self.state = process.name(process.states, p["state.waiting"] if self.waits else phase)
        self.kind = self.object = None
        self.waited = None
        self.holder = 0  # a cell
        if self.waits:
            self.kind = process.kind(unsigned(rest_data, p["cold.kind"], 8))
            self.object = unsigned(rest_data, p["cold.object"], 8)
            self.waited = process.elapsed(unsigned(rest_data, p["cold.since"], 4))
        elif self.in_place:
            self.kind, self.object = process.kind(p["join"]), self.in_place
        if self.kind:
            self.holder = process.holder(self.kind, self.object)

    def title(self):
        return f"fiber {self.id}" + (f' "{printable(self.name)}"' if self.name else "")

    def line(self, process):
        text = self.title()
        if self.site:
            text += f" ({self.site})"
        text += f": {self.state}"
        if self.thread:
            text += f" on thread {self.thread}"
        if self.kind:
            text += f" for {self.kind.name}"
            if self.object:
                text += f" at {self.object:#x}"
            if self.holder:
                holder = process.by_cell.get(self.holder)
                text += f" of {holder.title() if holder else 'a plain thread or one that has ended'}"
        if self.waited is not None:
            text += f", for {'' if process.knows_time else 'at least '}{self.waited:.1f} s"
        return text


class Process:
    """The fibers of the selected inferior, as they are now."""

    def __init__(self):
        self.layout = p = read_layout()
        self.sites = {}
        self.fibers = []
        self.by_cell = {}
        if not p:
            return
        self.states = [text_at(word_at(p["state_names"] + 8 * i)) for i in range(p["state_count"])]
        self.kinds = {}
        schedulers = []
        runtime = word_at(p["first_runtime"])
        while runtime:
            schedulers.append(word_at(runtime + p["runtime.scheduler"]))
            runtime = word_at(runtime + p["runtime.next"])
        schedulers.reverse()
        self.set_clock(schedulers)
        for s in schedulers:
            self.read_fibers(s)
        for f in self.fibers:
            self.by_cell[f.rest + p["cold.word"]] = f
        for s in schedulers:
            self.read_threads(s)

    @staticmethod
    def name(names, number):
        """A block may be half made at that instant."""
        return names[number] if number < len(names) else f"?{number}"

    def set_clock(self, schedulers):
        """A core does not say when it was written: there, the latest time that a worker has noted counts as now."""
        connection = getattr(gdb.selected_inferior(), "connection", None)
        self.knows_time = connection is not None and connection.type == "native"
        if self.knows_time:
            self.now = time.monotonic_ns() >> self.layout["coarse_shift"]
            return
        noted = [unsigned(read(w + self.layout["worker.coarse_now"], 4), 0, 4)
                 for s in schedulers for w in elements(s + self.layout["scheduler.workers"])]
        self.now = max(noted, key=lambda t: (t - noted[0] + 2**31) % 2**32) if noted else 0

    def elapsed(self, since):
        units = (self.now - since) % 2**32
        return 0.0 if units > 2**32 - 1024 else units * 2**self.layout["coarse_shift"] / 1e9

    def site(self, at):
        if at not in self.sites:
            file, _, line = struct.unpack("<QQI", read(at, 20)) if at else (0, 0, 0)
            self.sites[at] = f"{text_at(file)}:{line}" if line else ""
        return self.sites[at]

    def kind(self, at):
        """What src/fiber/wait_kind.hpp says of a kind of wait. A block may be half made at that instant."""
        if at not in self.kinds:
            p = self.layout
            try:
                self.kinds[at] = Kind(text_at(word_at(at + p["kind.name"])), unsigned(read(at + p["kind.held_at"], 1), 0, 1),
                                      signed(read(at + p["kind.offset"], 8)))
            except gdb.MemoryError:
                self.kinds[at] = Kind(f"something unknown ({at:#x})", 0, 0)
        return self.kinds[at]

    def holder(self, kind, object):
        """The cell of the fiber or thread that must act first; 0: not known."""
        p = self.layout
        if object and kind.held_at == p["kind.inside"]:
            return object + kind.offset
        if object and kind.held_at == p["kind.pointer"]:
            try:
                return word_at(object + kind.offset) & -p["cell.alignment"]
            except gdb.MemoryError:
                return 0
        return 0

    def read_fibers(self, scheduler):
        p = self.layout
        for slab in elements(scheduler + p["scheduler.slabs"]):
            memory = word_at(slab)
            leaves = read(slab + p["slab.leaves"], p["leaf.size"] * p["slab.leaf_count"])
            for i in range(p["slab.leaf_count"]):
                if leaves[i * p["leaf.size"] + p["leaf.is_present"]]:
                    self.read_leaf(memory + i * p["leaf.bytes"])

    def read_leaf(self, at):
        p = self.layout
        data = read(at, p["leaf.bytes"])
        for i in range(p["leaf.block_count"]):
            begin = i * p["block.size"]
            block = data[begin:begin + p["block.size"]]
            life = unsigned(block, p["block.life"], 4)
            if life == 0 or life & p["life.done"]:
                continue
            rest = begin + p["block.to_cold"]
            self.fibers.append(Fiber(self, at + begin, block, at + rest, data[rest:rest + p["block.size"]]))

    def read_threads(self, scheduler):
        p = self.layout
        by_block = {f.block: f for f in self.fibers}
        count = unsigned(read(scheduler + p["scheduler.carrier_count"], 4), 0, 4)
        for carrier in elements(scheduler + p["scheduler.carriers"])[:count]:
            fiber = by_block.get(word_at(carrier + p["carrier.current"]))
            if fiber:
                fiber.thread = unsigned(read(carrier + p["carrier.thread"], 4), 0, 4)
                fiber.state = "running"

    def find(self, what):
        found = [f for f in self.fibers if str(f.id) == what or (f.name and what in (f.name, printable(f.name)))]
        if not found:
            raise gdb.GdbError(f"weft: no fiber has the number or the name {what}")
        if len(found) > 1:
            raise gdb.GdbError(f"weft: {len(found)} fibers are called {what}: " + ", ".join(str(f.id) for f in found[:20]))
        return found[0]

    def cycles(self):
        """Each fiber waits for one other at most here, so one follows that."""
        over, found = set(), []
        for f in self.fibers:
            path = []
            while f and f.block not in over:
                over.add(f.block)
                path.append(f)
                f = self.by_cell.get(f.holder)
            if f in path:
                found.append(path[path.index(f):])
        return found


# ---- stacks


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class LeftStack(gdb.unwinder.Unwinder):
    """While `registers` are set: who has called the innermost frame of the thread."""

    def __init__(self):
        super().__init__("weft fiber")
        self.registers = None
        self.innermost = None

    def show(self, registers):
        self.registers = None
        gdb.invalidate_cached_frames()
        frame = gdb.newest_frame()
        self.innermost = tuple(int(frame.read_register(r)) for r in ("pc", "sp"))
        self.registers = registers
        gdb.invalidate_cached_frames()

    def hide(self):
        if self.registers is not None:
            self.registers = None
            gdb.invalidate_cached_frames()

    def is_innermost(self, frame):
        return tuple(int(frame.read_register(r)) for r in ("pc", "sp")) == self.innermost

    def __call__(self, pending):
        if self.registers is None or not self.is_innermost(pending):
            return None
        below = pending.read_register("sp")
        info = pending.create_unwind_info(FrameId(gdb.Value(self.registers["sp"] - 16).cast(below.type), pending.read_register("pc")))
        for name, value in self.registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        return info


LEFT = LeftStack()


def left_at(process, fiber):
    """Where it has left its stacks: that of the innermost coroutine inside it first, and its own last."""
    if not fiber.has_started or not fiber.sp or fiber.in_place and not fiber.waits:
        return []
    found, coroutine = [fiber.sp], fiber.coroutine
    while coroutine and len(found) < 100:
        found.append(word_at(coroutine + process.layout["coroutine.sp"]))
        coroutine = word_at(coroutine + process.layout["coroutine.outer"])
    return found


def registers_at(process, sp):
    p = process.layout
    frame = read(sp, p["frame.bytes"])
    registers = {name[6:]: unsigned(frame, offset, 8) for name, offset in p.items()
                 if name.startswith("frame.") and name not in ("frame.bytes", "frame.pc")}
    registers["pc"] = unsigned(frame, p["frame.pc"], 8)
    registers["sp"] = sp + p["frame.bytes"]
    return registers


THREAD_POINTERS = {"i386:x86-64": "fs_base", "aarch64": "tpidr"}


def registers_of(process, fiber, sp):
    """The same of a stack of this fiber, with the thread pointer if the fiber is a thread to what it calls (as_thread)."""
    registers, p = registers_at(process, sp), process.layout
    identity = word_at(fiber.home + p["stack.identity"]) if "stack.identity" in p else 0
    name = THREAD_POINTERS.get(gdb.selected_inferior().architecture().name())
    if identity and name:
        with contextlib.suppress(ValueError):   # a core or a stub may not have this register
            gdb.newest_frame().read_register(name)
            registers[name] = word_at(identity + p["identity.thread_pointer"])
    return registers


HOW_TO_HAVE_STACKS = "gdb's generate-core-file and gcore leave them out; `weft core FILE` on the live process, and the kernel, write them"


def lacks_stack(process, fiber):
    """Whether a core leaves it out: gdb then reads nothing, or zeros, to which no fiber returns."""
    try:
        return any(registers_at(process, sp)["pc"] == 0 for sp in left_at(process, fiber))
    except gdb.MemoryError:
        return True


class Shown:
    """The stacks of a fiber, each as its frames, innermost first. Frames are valid until the next stack; what was selected comes back."""

    def __init__(self, process, fiber):
        self.process, self.fiber = process, fiber
        self.is_cut = False  # of one that runs: its callers are not in this core

    def __enter__(self):
        self.thread = gdb.selected_thread()
        self.before = LEFT.registers
        self.level = None
        try:
            self.level = gdb.selected_frame().level()
        except gdb.error:
            pass
        return self.stacks()

    def stacks(self):
        if self.fiber.thread:
            LEFT.hide()
            thread = next((t for t in gdb.selected_inferior().threads() if t.ptid[1] == self.fiber.thread), None)
            if thread is None:
                raise gdb.GdbError(f"weft: {self.fiber.title()} runs on thread {self.fiber.thread}, which gdb does not know")
            thread.switch()
            yield self.frames(gdb.newest_frame())
            return
        if lacks_stack(self.process, self.fiber):
            return
        for sp in left_at(self.process, self.fiber):
            LEFT.show(registers_of(self.process, self.fiber, sp))
            frame = gdb.newest_frame()
            while frame and LEFT.is_innermost(frame):
                frame = frame.older()
            yield self.frames(frame)

    def frames(self, frame):
        found = []
        while frame and len(found) < 1000:
            if found and frame.pc() == 0:  # read from a page that is not there
                self.is_cut = True
                break
            found.append(frame)
            frame = frame.older()
        return found

    def __exit__(self, *_):
        LEFT.hide()
        if self.thread and self.thread.is_valid():
            self.thread.switch()
        if self.before is not None:
            LEFT.show(self.before)
        if self.level is not None:
            try:
                gdb.execute(f"frame level {self.level}", to_string=True)
            except gdb.error:
                pass


def text_of(value):
    """A printer meets what the compiler has left out only when it is called, and gdb would report that at large."""
    try:
        printer = gdb.default_visualizer(value)
        if hasattr(printer, "to_string"):
            printer.to_string()
        if hasattr(printer, "children"):
            for _ in itertools.islice(printer.children(), 64):
                pass
        return value.format_string(max_elements=64, max_depth=4)
    except (gdb.error, RuntimeError) as e:
        return "<optimized out>" if "optimized out" in str(e) else f"<{e}>"


def variables_of(frame, want):
    """(name, text) of the symbols of a frame's blocks up to its function."""
    try:
        block = frame.block()
    except RuntimeError:  # no debug information
        return
    while block:
        for symbol in block:
            if want(symbol):
                try:
                    text = text_of(symbol.value(frame))
                except (gdb.error, RuntimeError) as e:
                    text = f"<{e}>"
                yield symbol.name, text
        if block.function:
            return
        block = block.superblock


def line_of(number, frame):
    arguments = ", ".join(f"{name}={text}" for name, text in variables_of(frame, lambda s: s.is_argument))
    text = f"#{number:<3} {frame.pc():#018x} in {frame.name() or '??'} ({arguments})"
    sal = frame.find_sal()
    if sal.symtab:
        return f"{text} at {sal.symtab.filename}:{sal.line}"
    library = gdb.solib_name(frame.pc())
    return f"{text} from {library}" if library else text


def print_frames(frames, first, with_locals):
    for number, frame in enumerate(frames, first):
        gdb.write(f"  {line_of(number, frame)}\n")
        if with_locals:
            for name, text in variables_of(frame, lambda s: s.is_variable):
                gdb.write(f"        {name} = {text}\n")


def why_there_is_none(process, fiber):
    if lacks_stack(process, fiber):
        return "it is not in this core: " + HOW_TO_HAVE_STACKS
    return "it runs another fiber on its own stack, and is shown with that" if fiber.in_place else "it has not started"


@contextlib.contextmanager
def silent_printers():
    """What a printer inside another's value meets: gdb shows the value without it."""
    before = gdb.parameter("python print-stack")
    gdb.execute("set python print-stack none", to_string=True)
    try:
        yield
    finally:
        gdb.execute(f"set python print-stack {before}", to_string=True)


def print_stack(process, fiber, with_locals):
    gdb.write(fiber.line(process) + "\n")
    shown = 0
    of_fiber = Shown(process, fiber)
    with silent_printers(), of_fiber as stacks:
        for frames in stacks:
            print_frames(frames, shown, with_locals)
            shown += len(frames)
    if of_fiber.is_cut:
        gdb.write(f"  the rest of it is not in this core: {HOW_TO_HAVE_STACKS}\n")
    if not shown:
        gdb.write(f"  no stack: {why_there_is_none(process, fiber)}\n")


def compared(frames):
    """Where those frames are that make two stacks different: not the innermost ones of the runtime, which has several ways from a call
    to a wait and on to the next fiber. call_task may have the program's function in it."""
    def is_runtime(frame):
        name = frame.name() or ""
        return name.startswith("weft::detail::") and not name.startswith("weft::detail::call_task")
    return tuple(f.pc() for f in itertools.dropwhile(is_runtime, frames))


def print_all_stacks(process):
    groups = {}
    for fiber in process.fibers:
        with Shown(process, fiber) as stacks:
            groups.setdefault((lacks_stack(process, fiber), *(compared(frames) for frames in stacks)), []).append(fiber)
    for fibers in sorted(groups.values(), key=len):
        for fiber in fibers[1:]:
            gdb.write(fiber.line(process) + "\n")
        print_stack(process, fibers[0], False)
        gdb.write("\n")


# ---- commands


class WeftCommand(gdb.Command):
    """Fibers of weft. See: help weft fibers, help weft bt, help weft locals, help weft fiber."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STACK, prefix=True)


def one_argument(arguments, usage):
    found = gdb.string_to_argv(arguments)
    if len(found) != 1:
        raise gdb.GdbError(f"usage: {usage}")
    return found[0]


class FibersCommand(gdb.Command):
    """weft fibers [--state created|runnable|running|waiting]: lists the fibers of all runtimes, and those that wait for one another."""

    def __init__(self):
        super().__init__("weft fibers", gdb.COMMAND_STACK)

    def invoke(self, arguments, from_tty):
        words = gdb.string_to_argv(arguments)
        if words and (len(words) != 2 or words[0] != "--state" or words[1] not in STATES):
            raise gdb.GdbError(f"usage: weft fibers [--state {'|'.join(STATES)}]")
        process = Process()
        shown = [f for f in process.fibers if not words or f.state == words[1]]
        for fiber in shown:
            gdb.write(fiber.line(process) + "\n")
        gdb.write(f"{len(shown)} of {len(process.fibers)} fibers\n")
        for cycle in process.cycles():
            gdb.write("these wait for one another: " + ", ".join(f.title() for f in cycle) + "\n")
        lacking = sum(not f.thread and lacks_stack(process, f) for f in process.fibers)
        if lacking:
            gdb.write(f"stacks of {lacking} fibers are not in this core, nor are locks on them, whose owners are unknown: {HOW_TO_HAVE_STACKS}\n")


class BtCommand(gdb.Command):
    """weft bt ID|NAME|all: the stack of a fiber that runs, waits or is about to run; of all, each stack once."""

    def __init__(self):
        super().__init__("weft bt", gdb.COMMAND_STACK)

    def invoke(self, arguments, from_tty):
        which = one_argument(arguments, "weft bt ID|NAME|all")
        process = Process()
        if which == "all":
            print_all_stacks(process)
        else:
            print_stack(process, process.find(which), False)


class LocalsCommand(gdb.Command):
    """weft locals ID|NAME: the stack of a fiber with the variables of each frame."""

    def __init__(self):
        super().__init__("weft locals", gdb.COMMAND_STACK)

    def invoke(self, arguments, from_tty):
        which = one_argument(arguments, "weft locals ID|NAME")
        process = Process()
        print_stack(process, process.find(which), True)


class FiberCommand(gdb.Command):
    """weft fiber [ID|NAME]: backtrace, frame, up, info locals and so on show that fiber, above the thread's innermost frame, until the
process goes on, or weft fiber is said without an argument."""

    def __init__(self):
        super().__init__("weft fiber", gdb.COMMAND_STACK)

    def invoke(self, arguments, from_tty):
        LEFT.hide()
        if not arguments:
            return
        process = Process()
        fiber = process.find(one_argument(arguments, "weft fiber [ID|NAME]"))
        if fiber.thread:
            raise gdb.GdbError(f"weft: {fiber.title()} runs: choose its thread, {fiber.thread}")
        stacks = () if lacks_stack(process, fiber) else left_at(process, fiber)
        if not stacks:
            raise gdb.GdbError(f"weft: no stack: {why_there_is_none(process, fiber)}")
        LEFT.show(registers_of(process, fiber, stacks[0]))
        gdb.write(fiber.line(process) + "\n")
        gdb.execute("frame 1")


PAGE = 4096
MOST_OF_A_STACK = 16 << 20


def pages_from(address):
    """The pages of a stack that are in use: upwards to the guard of the next one."""
    first = address - address % PAGE
    for page in range(first, first + MOST_OF_A_STACK, PAGE):
        try:
            yield page, read(page, PAGE)
        except gdb.MemoryError:
            return


def sections_of(core):
    """(address, size, offset in the file) of what a core file keeps."""
    core.seek(0)
    header = core.read(64)
    offset, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
    for i in range(count):
        core.seek(offset + i * size)
        kind, _, at, address, _, kept = struct.unpack_from("<IIQQQQ", core.read(size))
        if kind == 1:
            yield address, kept, at


class CoreCommand(gdb.Command):
    """weft core FILE: writes a core file of the live process, with the stacks of its fibers.

generate-core-file, and gcore by it, give a mapping up at the first page that cannot be read. Stacks lie many in a mapping, with guard
pages between them that Linux 6.13 and later keep without splitting it. A core that the kernel writes is whole."""

    def __init__(self):
        super().__init__("weft core", gdb.COMMAND_STACK, gdb.COMPLETE_FILENAME)

    def invoke(self, arguments, from_tty):
        name = one_argument(arguments, "weft core FILE")
        process = Process()
        LEFT.hide()
        gdb.execute(f'generate-core-file {name}')
        with open(name, "r+b") as core:
            sections = list(sections_of(core))
            for fiber in process.fibers:
                for page, data in (p for sp in self.stacks_of(process, fiber) for p in pages_from(sp)):
                    for address, size, offset in sections:
                        if address <= page and page + PAGE <= address + size:
                            core.seek(offset + page - address)
                            core.write(data)
                            break

    @staticmethod
    def stacks_of(process, fiber):
        if not fiber.thread:
            return left_at(process, fiber)
        before = gdb.selected_thread()
        for thread in gdb.selected_inferior().threads():
            if thread.ptid[1] == fiber.thread:
                thread.switch()
                sp = int(gdb.newest_frame().read_register("sp"))
                before.switch()
                return [sp]
        return []


gdb.unwinder.register_unwinder(None, LEFT, replace=True)
gdb.events.cont.connect(lambda _: LEFT.hide())
for command in (WeftCommand, FibersCommand, BtCommand, LocalsCommand, FiberCommand, CoreCommand):
    command()

"""Reads what the lint needs of an ELF file: functions with their bytes, whom their calls name, landing pads, lines.

An object file has no addresses yet, so each of its sections is given a base of its own here; `image.place()` translates back.
"""
import bisect
import io
import pathlib
import re
import shutil
import subprocess

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from . import exceptions

SECTION_GAP = 1 << 32
PC_RELATIVE = {2, 4, 9, 26, 41, 42}   # R_X86_64_PC32, PLT32, GOTPCREL, GOTPC32, GOTPCRELX, REX_GOTPCRELX
DEFINED_TYPES = {"STT_FUNC", "STT_NOTYPE", "STT_GNU_IFUNC"}
PART = re.compile(r"\.(cold|part\.\d+\.cold)$")


class unreadable(Exception):
    pass


class function:
    """A symbol with code; `parts` are (address, bytes), its own and its cold ones."""

    def __init__(self, name, is_global):
        self.name, self.is_global, self.parts = name, is_global, []

    @property
    def entry(self):
        return self.parts[0][0]

    def holds(self, address):
        return any(at <= address < at + len(code) for at, code in self.parts)


class image:
    def __init__(self, name, stream, path):
        self.name, self.path = name, path
        try:
            self.elf = ELFFile(stream)
        except ELFError as e:
            raise unreadable(f"{name}: no ELF file ({e})") from e
        if self.elf["e_machine"] != "EM_X86_64":
            raise unreadable(f"{name}: for {self.elf['e_machine']}; weft-lint reads x86-64 only")
        self.is_object = self.elf["e_type"] == "ET_REL"
        self.bases = {}            # section index -> address of its first byte
        for index, section in enumerate(self.elf.iter_sections()):
            self.bases[index] = (index + 1) * SECTION_GAP if self.is_object else section["sh_addr"]
        self.symbols = self._symbols()
        self.functions = self._functions()
        self.by_entry = {f.entry: f for f in self.functions}
        self._starts = sorted((at, f) for f in self.functions for at, _ in f.parts) if self.functions else []
        self._start_addresses = [at for at, _ in self._starts]
        self.slots, self.relocated = {}, {}
        self.stubs = {}            # address of a stub of the linker's -> name
        self._read_relocations()
        self._tls = self._tls_names()

    # ---- functions

    def _symbols(self):
        table = self.elf.get_section_by_name(".symtab") or self.elf.get_section_by_name(".dynsym")
        if table is None:
            raise unreadable(f"{self.name}: has no symbols")
        return list(table.iter_symbols())

    def address_of(self, symbol):
        index = symbol["st_shndx"]
        if not isinstance(index, int):
            return None
        return symbol["st_value"] + (self.bases[index] if self.is_object else 0)

    def _functions(self):
        found, by_place = {}, {}
        cold = []
        for s in self.symbols:
            index = s["st_shndx"]
            if s["st_info"]["type"] not in DEFINED_TYPES or not isinstance(index, int) or s["st_size"] == 0:
                continue
            section = self.elf.get_section(index)
            if not section["sh_flags"] & 4 or section["sh_type"] != "SHT_PROGBITS":   # executable
                continue
            at = self.address_of(s)
            offset = at - self.bases[index]
            if PART.search(s.name):
                cold.append((s, at, index, offset))
                continue
            if at in by_place:     # another name of the same code
                by_place[at].is_global |= s["st_info"]["bind"] != "STB_LOCAL"
                found[s.name] = by_place[at]
                continue
            f = function(s.name, s["st_info"]["bind"] != "STB_LOCAL")
            f.parts.append((at, self._bytes(index, offset, s["st_size"])))
            by_place[at] = f
            found.setdefault(s.name, f)
        for s, at, index, offset in cold:
            owner = found.get(PART.sub("", s.name)) or by_place.setdefault(at, function(s.name, False))
            owner.parts.append((at, self._bytes(index, offset, s["st_size"])))
        self.aliases = found
        return list(by_place.values())

    def _bytes(self, index, offset, size):
        if index not in self.__dict__.setdefault("_data", {}):
            self._data[index] = self.elf.get_section(index).data()
        return self._data[index][offset:offset + size]

    def function_at(self, address):
        """The function in which the address lies, or None."""
        i = bisect.bisect_right(self._start_addresses, address) - 1
        return self._starts[i][1] if i >= 0 and self._starts[i][1].holds(address) else None

    # ---- whom a call names

    def _read_relocations(self):
        tables = {}                # of symbols, by section: objects have many sections of relocations
        for section in self.elf.iter_sections():
            if not isinstance(section, RelocationSection):
                continue
            if self.is_object and not self.elf.get_section(section["sh_info"])["sh_flags"] & 4:   # of no code, mostly of debug information
                continue
            link = section["sh_link"]
            if link not in tables:
                tables[link] = list(self.elf.get_section(link).iter_symbols())
            symbols = tables[link]
            base = self.bases.get(section["sh_info"], 0) if self.is_object else 0
            for r in section.iter_relocations():
                symbol = symbols[r["r_info_sym"]] if r["r_info_sym"] else None
                at = base + r["r_offset"]
                if self.is_object:
                    if symbol is not None:
                        self.relocated[at] = (symbol, r["r_info_type"], r["r_addend"])
                elif symbol is not None and symbol.name:
                    self.slots[at] = symbol.name

    def learn_stubs(self, jumps):
        """`jumps`: (address of a stub, address of the slot it jumps through)."""
        for stub, slot in jumps:
            if slot in self.slots:
                self.stubs[stub] = self.slots[slot]

    def stub_sections(self):
        for s in self.elf.iter_sections():
            if not self.is_object and s.name.startswith(".plt") and s["sh_type"] == "SHT_PROGBITS":
                yield s["sh_addr"], s.data()

    def named_in(self, at, size):
        """What a relocation inside the instruction names: (name or None, address or None); None if there is none."""
        for place in range(at, at + size):
            if place in self.relocated:
                symbol, kind, addend = self.relocated[place]
                address = self.address_of(symbol)
                if symbol["st_info"]["type"] == "STT_SECTION":
                    return None, address + addend + (4 if kind in PC_RELATIVE else 0)
                return symbol.name, address
        return None

    # ---- for reports

    def _tls_names(self):
        segment = next((p for p in self.elf.iter_segments() if p["p_type"] == "PT_TLS"), None)
        if segment is None:
            return []
        align = max(segment["p_align"], 1)
        size = -(-segment["p_memsz"] // align) * align
        return [(s["st_value"] - size, max(s["st_size"], 1), s.name) for s in self.symbols
                if s["st_info"]["type"] == "STT_TLS" and isinstance(s["st_shndx"], int)]

    def tls_name(self, offset):
        """The thread_local at that distance from the thread pointer, or None."""
        return next((name for at, size, name in self._tls if at <= offset < at + size), None)

    def landing_pads(self, f):
        """A list of (first, last + 1, landing pad), or None where the file does not say."""
        if "_pads" not in self.__dict__:
            self._pads = None if self.is_object else exceptions.landing_pads(self.elf)
        if self._pads is None:
            return None
        return [entry for at, _ in f.parts for entry in self._pads.get(at, [])]

    def place(self, address):
        """(section name or None, address within the file)"""
        if not self.is_object:
            return None, address
        index = address // SECTION_GAP - 1
        return self.elf.get_section(index).name, address % SECTION_GAP

    def line(self, address):
        """file:line, or None without debug information."""
        tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
        if tool is None or self.path is None:
            return None
        section, at = self.place(address)
        command = [tool, "-e", str(self.path)] + (["-j", section] if section else []) + [hex(at)]
        said = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.split(" (")[0].strip()
        return None if not said or said.startswith("??") or said.endswith(":?") or said.endswith(":0") else said


def images_of(path):
    """One image of a file, or one of each member of an archive."""
    data = pathlib.Path(path).read_bytes()
    if not data.startswith(b"!<arch>\n"):
        yield image(str(path), io.BytesIO(data), path)
        return
    at, long_names = 8, b""
    while at + 60 <= len(data):
        name, size = data[at:at + 16].rstrip(), int(data[at + 48:at + 58])
        content = data[at + 60:at + 60 + size]
        at += 60 + size + size % 2
        if name == b"//":
            long_names = content
        elif name not in (b"/", b"/SYM64/"):
            if name.startswith(b"/"):
                name = long_names[int(name[1:]):].split(b"/\n")[0]
            yield image(f"{path}({name.decode().rstrip('/')})", io.BytesIO(content), None)

"""Where an exception goes on that leaves a call: the call-site tables of .gcc_except_table, found by way of .eh_frame.

Formats: Linux Standard Base, "Exception Frames"; Itanium C++ ABI, "Exception Handling Tables". pyelftools reads .eh_frame as well,
but takes ten times as long as all the rest of the lint.
"""
import struct

OMITTED = 0xff
LAYOUTS = {0x00: "<Q", 0x02: "<H", 0x03: "<I", 0x04: "<Q", 0x0a: "<h", 0x0b: "<i", 0x0c: "<q"}


class reader:
    """Of a section's bytes, by address."""

    def __init__(self, data, base, address):
        self.data, self.base, self.at = data, base, address - base

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def uleb(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 0x7f) << shift
            shift += 7
            if not b & 0x80:
                return value

    def text(self):
        end = self.data.index(0, self.at)
        found, self.at = self.data[self.at:end], end + 1
        return found

    def number(self, layout):
        value = struct.unpack_from(layout, self.data, self.at)[0]
        self.at += struct.calcsize(layout)
        return value

    def pointer(self, encoding):
        here = self.base + self.at
        value = self.uleb() if encoding & 0x0f == 0x01 else self.number(LAYOUTS[encoding & 0x0f])
        return value + here if encoding & 0x70 == 0x10 and value else value


def common_entry(r):
    """The encodings that a CIE says its FDEs have: of code, and of tables (or None)."""
    version = r.byte()
    augmentation = r.text()
    r.uleb()
    r.uleb()                   # signed, but only its length matters
    r.uleb() if version > 1 else r.byte()
    code, tables = 0x00, None
    if augmentation.startswith(b"z"):
        r.uleb()
        for letter in augmentation[1:]:
            if letter == ord("R"):
                code = r.byte()
            elif letter == ord("L"):
                tables = r.byte()
            elif letter == ord("P"):
                r.pointer(r.byte())
    return code, tables


def frames(data, base):
    """(first address, address of the table) of each piece of code that has one."""
    common, at = {}, base
    while at + 4 <= base + len(data):
        r = reader(data, base, at)
        length = r.number("<I")
        if length == 0:
            return
        if length == 0xffffffff:
            length = r.number("<Q")
        start = base + r.at
        at = start + length
        back = r.number("<I")
        if back == 0:
            common[start - 4] = common_entry(r)
            continue
        code, tables = common.get(start - back, (None, None))
        if tables is None or tables == OMITTED:
            continue
        first = r.pointer(code)
        r.pointer(code & 0x0f)
        r.uleb()
        table = r.pointer(tables)
        if table:
            yield first, table


def call_sites(r, start):
    encoding = r.byte()
    pads_from = start if encoding == OMITTED else r.pointer(encoding)
    if r.byte() != OMITTED:
        r.uleb()               # the type table
    encoding = r.byte()
    length = r.uleb()
    end = r.at + length
    while r.at < end:
        first, length, pad = r.pointer(encoding), r.pointer(encoding), r.pointer(encoding)
        r.uleb()               # the action
        if pad:
            yield start + first, start + first + length, pads_from + pad


def landing_pads(elf):
    """Of each start of code: (first, last + 1, pad) of its calls. None if the tables cannot be read."""
    frame, table = elf.get_section_by_name(".eh_frame"), elf.get_section_by_name(".gcc_except_table")
    if table is None or frame is None:
        return {}
    data, base = table.data(), table["sh_addr"]
    try:
        return {first: list(call_sites(reader(data, base, at), first)) for first, at in frames(frame.data(), frame["sh_addr"])
                if base <= at < base + len(data)}
    except (KeyError, IndexError, ValueError, struct.error):   # an encoding unknown here: the caller assumes more edges instead
        return None

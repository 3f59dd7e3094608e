#!/usr/bin/env python3
"""Mutated requests to weft, h11 and llhttp: two that take a request must have read the same one, in method, target, fields and body.

What is not taken by all three is counted, not judged: to refuse is safe. llhttp knows only the methods of its list, h11 ends HTTP/1.0.
"""

import collections
import io
import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import table  # noqa: E402
from attack import arguments, end_with, failed, program  # noqa: E402
from h11_reader import read_by_h11  # noqa: E402
from mutation import mutated  # noqa: E402

BATCH = 2000            # streams that one process of attack_readers is given


class told:
    """What attack_readers has made of some streams."""

    def __init__(self, path, streams):
        sent = b"".join(struct.pack("<II", piece, len(data)) + data for data, piece in streams)
        ended = subprocess.run([path], input=sent, stdout=subprocess.PIPE, timeout=600, check=False)
        if ended.returncode != 0:
            raise failed(f"attack_readers ended with {ended.returncode}, at one of {[data for data, _ in streams]}")
        self.bytes = io.BytesIO(ended.stdout)
        self.of_streams = [tuple(self.requests() for _ in range(3)) for _ in streams]

    def number(self):
        return struct.unpack("<I", self.bytes.read(4))[0]

    def text(self):
        return self.bytes.read(self.number())

    def requests(self):
        return [self.request() for _ in range(self.number())]

    def request(self):
        method, target = self.text(), self.text()
        return method, target, [(self.text(), self.text()) for _ in range(self.number())], self.text()


def in_origin_form(target, fields):
    """Absolute form as weft hands it on: the path, and the host in the place of the field (RFC 9112, 3.2.2)."""
    absolute = re.fullmatch(rb"(?is)https?://([^/?#]+)(/.*)?", target)
    if not absolute:
        return target, fields
    return absolute[2] or b"/", [f for f in fields if f[0].lower() != b"host"] + [(b"Host", absolute[1])]


def plain(request):
    """Without what no two of them spell alike: letters of names and of codings, white space around values, absolute targets."""
    method, target, fields, body = request
    target, fields = in_origin_form(target, fields)
    return method, target, [plain_field(name.lower(), value.strip(b" \t")) for name, value in fields], body


def plain_field(name, value):
    return name, value.lower() if name == b"transfer-encoding" else value


def judge(streams, told_of, counts):
    """The differences, as (reader, stream, one's request, the other's)."""
    for (data, _), (whole, cut, by_llhttp) in zip(streams, told_of):
        if whole != cut:
            yield "weft in pieces", data, whole, cut
        counts["taken by weft" if whole else "refused by weft"] += 1
        for name, others in (("h11", read_by_h11(data)), ("llhttp", by_llhttp)):
            counts[f"requests that weft and {name} take"] += min(len(whole), len(others))
            counts[f"requests that weft alone takes, not {name}"] += max(0, len(whole) - len(others))
            counts[f"requests that {name} takes, not weft"] += max(0, len(others) - len(whole))
            for mine, other in zip(map(plain, whole), map(plain, others)):
                if mine != other:
                    yield name, data, mine, other
                    break


def seeds():
    rows = [row for row in table.read() if 0 < len(row.sent) <= 400]
    return [row.sent for row in rows if row.answers and row.answers[0].status == 200], [row.sent for row in rows]


def main():
    asked = arguments(__doc__, requests=(int, None, "how many mutated requests (3000; 200000 as a whole)"))
    number = asked.requests or (200000 if asked.whole else 3000)
    rnd = random.Random(asked.seed)
    accepted, others = seeds()
    peers = program(asked, "readers")
    counts = collections.Counter()
    differences = []
    while number > counts["taken by weft"] + counts["refused by weft"] and len(differences) < 20:
        streams = [(mutated(accepted, others, rnd), rnd.choice((1, 2, 3, 7, 16, 50))) for _ in range(min(BATCH, number))]
        differences += judge(streams, told(peers, streams).of_streams, counts)
    for name, data, mine, other in differences[:5]:
        print(f"{name} reads another request\n    sent {data!r}\n    weft {mine!r}\n    {name} {other!r}")
    for what, count in sorted(counts.items()):
        print(f"    {count:7d} {what}")
    tried = counts["taken by weft"] + counts["refused by weft"]
    print(f"http differences: {tried} mutated requests (seed {asked.seed}), {counts['taken by weft']} with a request that weft takes, "
          f"{len(differences)} differences")
    return not differences


if __name__ == "__main__":
    end_with(main)

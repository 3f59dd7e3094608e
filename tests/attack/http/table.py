"""Reads http/table/*.txt: requests as bytes, and the outcome that each must have. table/README.md has the form."""

import dataclasses
import glob
import os
import re

ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\"}


@dataclasses.dataclass
class answer:
    status: int
    target: bytes | None = None
    body: bytes | None = None


@dataclasses.dataclass
class row:
    name: str
    sent: bytes
    answers: list           # before the client ends its side, if it does
    late: list | None       # after it did
    end: str                # keep or close


def unescaped(text):
    def byte(found):
        word = found[0]
        return word if len(word) == 1 else bytes([int(word[2:], 16)]).decode("latin-1") if word[1] == "x" else ESCAPES[word[1]].decode("latin-1")

    return re.sub(r"\\x[0-9a-f]{2}|\\[rnt0\\]|.", byte, text).encode("latin-1")


class names:
    def __init__(self):
        self.texts = {}

    def expanded(self, text):
        for name in sorted(self.texts, key=len, reverse=True):
            text = text.replace("$" + name, self.texts[name])
        return re.sub(r"\{([^{}*]+)\*(\d+)\}", lambda found: found[1] * int(found[2]), text)


def answer_of(word):
    found = re.fullmatch(r"(\d{3})(?:<(.*?)>)?(?:\[(.*?)\])?", word)
    if not found:
        raise ValueError(f"{word!r} is no answer")
    return answer(int(found[1]), *(None if part is None else unescaped(part) for part in found.group(2, 3)))


def row_of(line, known):
    name, outcome, sent = (part.strip(" ") for part in line.split("|", 2))
    words = known.expanded(outcome).split()
    if words[-1] not in ("keep", "close"):
        raise ValueError(f"{name!r} ends neither by keep nor by close")
    half = words.index("half") if "half" in words else None
    late = None if half is None else [answer_of(word) for word in words[half + 1 : -1]]
    return row(name, unescaped(known.expanded(sent)), [answer_of(word) for word in words[:-1][:half]], late, words[-1])


def read():
    known = names()
    rows = []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "table", "*.txt"))):
        with open(path, encoding="ascii") as lines:
            for number, line in enumerate(lines, 1):
                line = line.rstrip("\n")
                if line.startswith("let "):
                    name, text = line[4:].split(" = ", 1)
                    known.texts[name] = known.expanded(text)
                elif line and not line.startswith("#"):
                    try:
                        rows.append(row_of(line, known))
                    except (ValueError, IndexError) as why:
                        raise ValueError(f"{path}:{number}: {why}") from None
    repeated = {r.name for r in rows if sum(other.name == r.name for other in rows) > 1}
    if repeated:
        raise ValueError(f"two rows of one name: {sorted(repeated)}")
    return rows

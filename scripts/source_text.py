"""What the source checks share: the tree's C++ files, their text without comments and literals, and how to complain."""
import pathlib
import re
import sys

SUFFIXES = {".cpp", ".hpp", ".h", ".S"}
_TOKEN = re.compile(
    r'R"(?P<mark>[^ ()\\\t\n]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|//(?:\\\n|[^\n])*"
    r"|/\*.*?\*/",
    re.S,
)


def files(root, *folders):
    """All C++ files under the folders of root, in a stable order."""
    found = []
    for folder in folders:
        found += [p for p in pathlib.Path(root, folder).rglob("*") if p.suffix in SUFFIXES and p.is_file()]
    return sorted(found)


def code(path, keep_strings=False):
    """The file's lines with comments blanked and, unless kept, the insides of literals too."""
    def blank(match):
        text = match.group(0)
        if keep_strings and text[0] not in "/":
            return text
        return "\n" * text.count("\n") if text[0] == "/" else '""' + "\n" * text.count("\n")
    return _TOKEN.sub(blank, path.read_text(encoding="utf-8")).split("\n")


def finish(name, root, looked_at, complaints):
    """Prints the complaints, (path, line, text) each, and returns the exit code. Looking at nothing is a failure."""
    for path, line, text in complaints:
        print(f"{pathlib.Path(path).relative_to(root)}:{line}: {text}")
    if not looked_at:
        print(f"{name}: no source found under {root}", file=sys.stderr)
        return 2
    return 1 if complaints else 0

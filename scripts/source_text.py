"""What the source checks share: the tree's C++ files, their text without comments and literals, its tests, and how to complain."""
import pathlib
import re
import sys

_GOOGLE_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)", re.M)
_CTEST = re.compile(r"add_test\(\s*NAME\s+([^\s)]+)")
_ITEMS = re.compile(r"foreach\((\w+) IN ITEMS ([^)]*)\)")
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


def line_at(text, position):
    return text.count("\n", 0, position) + 1


def google_tests(root):
    """(path, line, suite, name) of each test of GoogleTest, but for those of planted trees."""
    for path in files(root, "tests"):
        if "bad" in path.relative_to(root).parts:
            continue
        text = path.read_text(encoding="utf-8")
        for match in _GOOGLE_TEST.finditer(text):
            yield path, line_at(text, match.start()), *match.groups()


def ctests(root):
    """(path, line, name) of each add_test; where a name has a variable, once for each of what its loop goes over."""
    for path in [*root.glob("cmake/*.cmake"), *root.glob("tests/**/*.cmake"), *root.glob("tests/CMakeLists.txt")]:
        if "bad" in path.relative_to(root).parts:
            continue
        text = path.read_text(encoding="utf-8")
        for match in _CTEST.finditer(text):
            names = {match.group(1)}
            for variable, items in _ITEMS.findall(text[:match.start()]):
                names |= {n.replace(f"${{{variable}}}", item) for n in names for item in items.split()}
            yield from ((path, line_at(text, match.start()), n) for n in sorted(names) if "$" not in n)


def finish(name, root, looked_at, complaints):
    """Prints the complaints, (path, line, text) each, and returns the exit code. Looking at nothing is a failure."""
    for path, line, text in complaints:
        print(f"{pathlib.Path(path).relative_to(root)}:{line}: {text}")
    if not looked_at:
        print(f"{name}: no source found under {root}", file=sys.stderr)
        return 2
    return 1 if complaints else 0

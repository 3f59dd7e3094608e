"""The results of a run: a file of JSON with a line for each figure, what was left out, and where and when it was measured."""
import csv
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
FIELDS = ("bench", "variant", "workers", "n", "unit", "min", "median", "max", "runs")
SCALES = {"ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")), "us": ((1e6, "s"), (1e3, "ms"), (1, "us")),
          "ms": ((1e3, "s"), (1, "ms"), (1e-3, "us")), "KiB": ((1024, "MiB"), (1, "KiB"))}
NONE = "–"


def short(value):
    """Three digits, and all of those before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 10 else 2}f}" if value else "0"


def readable(value, unit):
    """A figure in the unit of its size. A ratio ("x") and a count ("1") have none."""
    if unit in ("x", "1", "people"):
        return short(value)
    if unit == "1/s":
        return f"{value:,.0f}"
    for size, name in SCALES.get(unit, ((1, unit),)):
        if abs(value) >= size:
            break
    return f"{short(value / size)} {name}"


class Results:
    """Looks figures up, and knows which were never asked for."""

    def __init__(self, about=None, left_out=(), rows=()):
        self.about, self.left_out, self.rows = dict(about or {}), list(left_out), list(rows)
        self.asked = set()

    @classmethod
    def load(cls, path):
        text = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        return cls(text["about"], text["left_out"], text["results"])

    def save(self, path):
        def lines(items):
            return "[\n" + ",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in items) + "\n]"
        text = f'{{\n"about": {json.dumps(self.about, indent=2, ensure_ascii=False)},\n"left_out": {lines(self.left_out)},\n' \
               f'"results": {lines(self.rows)}\n}}\n'
        pathlib.Path(path).write_text(text, encoding="utf-8")

    def save_csv(self, path):
        with open(path, "w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, FIELDS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(self.rows)

    def replace(self, benches, other):
        """Takes the figures of these benchmarks from `other`; the rest stays."""
        self.rows = [r for r in self.rows if r["bench"] not in benches] + other.rows
        self.left_out = [e for e in self.left_out if e["bench"] not in benches] + other.left_out
        self.about = {**self.about, **other.about, "taken": {**self.about.get("taken", {}), **other.about.get("taken", {})}}

    def all(self, bench, variant=None, unit=None):
        """Rows in the order in which they were measured, and marks them as asked for."""
        found = [r for r in self.rows if r["bench"] == bench and variant in (None, r["variant"]) and unit in (None, r["unit"])]
        self.asked.update(map(id, found))
        return found

    def get(self, bench, variant, workers=None, n=None):
        """The row; of several sizes the largest, of several numbers of workers the smallest. None if there is none."""
        found = [r for r in self.all(bench, variant) if workers in (None, r["workers"]) and n in (None, r["n"])]
        return min(found, key=lambda r: (r["workers"], -r["n"]), default=None)

    def value(self, *what, **which):
        row = self.get(*what, **which)
        return None if row is None else row["median"]

    def workers(self, bench, variant):
        return sorted({r["workers"] for r in self.all(bench, variant)})

    def variants(self, bench):
        return list(dict.fromkeys(r["variant"] for r in self.rows if r["bench"] == bench))

    def unasked(self, *benches):
        return [r for r in self.rows if r["bench"] in benches and id(r) not in self.asked]


class Seeds:
    """What the documents report, on their machines (figures.csv)."""

    def __init__(self, path=HERE / "figures.csv"):
        with open(path, encoding="utf-8", newline="") as lines:
            self.rows = [row | {"n": int(row["n"]), "value": float(row["value"])} for row in csv.DictReader(lines)]

    def of(self, bench, variant):
        return next((r for r in self.rows if (r["bench"], r["variant"]) == (bench, variant)), None)

    def value(self, bench, variant):
        row = self.of(bench, variant)
        return None if row is None else row["value"]

    def text(self, bench, variant):
        row = self.of(bench, variant)
        return NONE if row is None else f"{readable(row['value'], row['unit'])} ({row['of']})"


def cell(row, spread=False):
    """The median of a row; with its extremes if there are several runs and it is asked for."""
    if row is None:
        return NONE
    text = readable(row["median"], row["unit"])
    if spread and row["runs"] > 1:
        text += f" ({readable(row['min'], row['unit'])} to {readable(row['max'], row['unit'])})"
    return text


def table(head, rows):
    """Markdown; cells are text."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join(lines)

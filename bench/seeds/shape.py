"""What can be read off the feed's curves: where threads become faster, how straight a line is, how good the hybrid is.

`weft bench feed` reports these as lines of its own; what it does not report is computed here from the medians.
"""

LOADS = (10, 100, 1000, 10_000)


def curve(results, variant, workers, load):
    """Microseconds by number of people."""
    return {r["n"]: r["median"] for r in results.all("feed", f"{variant}/nutrients-{load}", "us") if workers in (None, r["workers"])}


def threads_faster_from(results, variant, workers, load):
    """The least number of people from which on threads win at every larger one; None if they do not win at the largest, "?" if unknown."""
    reported = results.get("feed", f"{variant}/threads-faster-from/nutrients-{load}", workers)
    if reported is not None:
        return int(reported["median"]) or None
    mine, threads = curve(results, variant, workers, load), curve(results, "threads", None, load)
    common = sorted(mine.keys() & threads.keys())
    if not common:
        return "?"
    start = None
    for people in common:
        if threads[people] >= mine[people]:
            start = None
        elif start is None:
            start = people
    return start


def straightness(results, variant, workers, load):
    """R squared of the least-squares line through time over people; None for fewer than three points."""
    for name in ("linear-fit-r2-of-least", "linear-fit-r2"):
        reported = results.get("feed", f"{variant}/{name}/nutrients-{load}", workers)
        if reported is not None:
            return reported["median"]
    points = sorted(curve(results, variant, workers, load).items())
    if len(points) < 3:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    xx = sum((x - mean_x) ** 2 for x, _ in points)
    yy = sum((y - mean_y) ** 2 for _, y in points)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return xy * xy / (xx * yy) if xx and yy else None


def to_the_better(results, variant, workers, load, least=1):
    """(ratio, people): the largest time of the variant in that of the better of coroutines and threads, from `least` people on."""
    reported = results.get("feed", f"{variant}/beside-the-better/nutrients-{load}", workers)
    if reported is not None:
        return reported["median"], reported["n"]
    mine = curve(results, variant, workers, load)
    others = [curve(results, other, None, load) for other in ("threads", "coroutines")]
    ratios = [(mine[n] / min(o[n] for o in others), n) for n in mine if n >= least and all(n in o for o in others)]
    return max(ratios, default=None)

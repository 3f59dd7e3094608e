#!/usr/bin/env python3
"""Checks what run_over_etcd makes of the files of processes that were killed, of which the last line may be torn."""
import importlib.machinery
import importlib.util
import json
import pathlib
import tempfile

path = pathlib.Path(__file__).resolve().parent / "run_over_etcd"
loader = importlib.machinery.SourceFileLoader("run_over_etcd", str(path))
run_over_etcd = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_over_etcd", loader))
loader.exec_module(run_over_etcd)


def operation(what, call, returned=0, outcome="unknown"):
    return {"what": what, "name": "3/x", "call": call, "returned": returned, "outcome": outcome}


LINES = [
    [0, operation("claim", 10)], [0, operation("claim", 10, 20, "ok")],   # has ended
    [1, operation("find", 11)], [1, None],                                # was dropped
    [2, operation("release", 30)],                                        # these have no answer
    [3, operation("claim", 31)], [4, operation("find", 32)], [5, operation("held", 33)],
]

with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    text = "".join(json.dumps(line) + "\n" for line in LINES)
    (folder / "n0-1.jsonl").write_text(text + '[3, {"what": "claim", "outc')
    (folder / "n1-1.jsonl").write_text(json.dumps([0, operation("claim", 5, 40, "refused")]) + "\n")
    got = sorted((o["what"], o["outcome"], o["call"], o["returned"]) for o in run_over_etcd.operations_of(folder))
    wanted = [("claim", "ok", 10, 20), ("claim", "refused", 5, 40), ("claim", "unknown", 31, 41), ("release", "unknown", 30, 41)]
    assert got == wanted, got
    assert run_over_etcd.write_history(folder, folder / "history.jsonl") == (1, 1, 1)
print("what has ended is taken as it was told, and claims and releases without an answer as unknown")

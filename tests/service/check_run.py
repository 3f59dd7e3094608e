#!/usr/bin/env python3
"""check_run.py RUN BUILD - bench/service/run in a very short form: two variants, two turns, and the file with the percentiles."""
import csv
import pathlib
import subprocess
import sys
import tempfile


def check(holds, what):
    if not holds:
        sys.exit(f"{what}\n{said}")


with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder, "runs.csv")
    ran = subprocess.run([sys.argv[1], "--build", sys.argv[2], "--runs", "2", "--seconds", "1", "--csv", file, "fibers/cached/w1", "callbacks"],
                         capture_output=True, text=True, timeout=120)
    said = ran.stdout + ran.stderr
    check(ran.returncode == 0, f"exit code {ran.returncode}")
    with open(file, newline="") as opened:
        lines = list(csv.DictReader(opened))

check([(line["variant"], line["run"]) for line in lines]
      == [("fibers/cached/w1", "1"), ("callbacks", "1"), ("callbacks", "2"), ("fibers/cached/w1", "2")], "the variants take turns")
for name in ("fibers/cached/w1", "callbacks"):
    mine = [line for line in lines if line["variant"] == name]
    best = [line for line in mine if line["best"]]
    check(len(best) == 1 and int(best[0]["requests_per_s"]) == max(int(line["requests_per_s"]) for line in mine), "the best run is marked")
for line in lines:
    latencies = [int(line[key]) for key in ("p50_us", "p75_us", "p90_us", "p95_us", "p99_us", "p99.9_us", "max_us")]
    check(latencies == sorted(latencies) and latencies[0] > 0, "percentiles rise")
    check(int(line["errors"]) == 0 and int(line["requests"]) > 0, "every request is answered")
    check(float(line["server_cpu_us_per_request"]) > 0 and float(line["wrk_cores"]) > 0, "the CPU of server and wrk is watched")

def redis_per_request(name):
    mine = [line for line in lines if line["variant"] == name]
    return sum(float(line["redis_cores"]) for line in mine) / sum(int(line["requests"]) for line in mine)


check(redis_per_request("fibers/cached/w1") < redis_per_request("callbacks"), "Redis works for each request, unless the user is cached")
for word in ("commit: ", "kernel: ", "governor: ", "ulimit -n: ", "Redis: ", "wrk: ", "CPUs: ", "errors in all runs: 0"):
    check("\n" + word in "\n" + said, f"it states {word}")

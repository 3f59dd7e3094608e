"""coroutines.py - a program of asyncio awaits fibers, and a program of fibers runs a coroutine."""
import asyncio
import time

import weft


def fetch(name):
    time.sleep(0.05)                               # any call that blocks: the loop of asyncio goes on
    return len(name) * 10


async def total(names):
    return sum(await asyncio.gather(*(weft.spawn(fetch, name) for name in names)))


async def quote(name):
    await asyncio.sleep(0.01)                      # a library of asyncio
    return f"{name}: 30"


def main():
    quotes = [weft.spawn(weft.run_coroutine, quote(name)) for name in ("fig", "cherry")]
    return [q.result() for q in quotes]            # no thread is kept while they wait


if __name__ == "__main__":
    print(weft.run(main))
    print(asyncio.run(total(["apple", "fig", "cherry"])))

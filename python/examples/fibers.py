"""fibers.py - three fibers fetch prices, each by a call that blocks; one waits for them, with a limit of time."""
import time

import weft


def fetch(name, prices):
    time.sleep(0.05)                      # any function, any library: it blocks nobody else
    prices.send((name, len(name) * 10))


def main():
    prices = weft.Channel(3)
    total = 0
    with weft.timeout(30):                # TimeoutError
        with weft.scope() as s:           # its fibers end here; the first failure stops the others, and is raised
            for name in ("apple", "fig", "cherry"):
                s.spawn(fetch, name, prices)
            for _ in range(3):
                name, price = prices.receive()
                total += price
    return total


if __name__ == "__main__":
    print(weft.run(main))

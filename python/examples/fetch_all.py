"""fetch_all.py - what asyncio does with gather, a semaphore and a time limit, by fibers: ten jobs, three at a time, one second for all."""
import random
import time

import weft


def fetch(number, places):
    with places:                              # three at a time
        time.sleep(random.uniform(0, 0.01))   # any blocking call of any library
        return number * number


def main():
    places = weft.Semaphore(3)
    with weft.timeout(60), weft.scope() as s:
        fibers = [s.spawn(fetch, n, places) for n in range(10)]
    return [f.result() for f in fibers]


if __name__ == "__main__":
    print(weft.run(main))

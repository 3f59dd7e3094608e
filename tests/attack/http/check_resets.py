#!/usr/bin/env python3
"""Clients that reset, leave half-way, dribble or never read, beside neighbours that ask and check every answer."""

import collections
import os
import random
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from attack import arguments, end_with, server  # noqa: E402
from client import client, silent  # noqa: E402

RESET = struct.pack("ii", 1, 0)
REQUEST = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
PARTS = [b"", b"G", REQUEST[:20], REQUEST, REQUEST * 3, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
         b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", b"\0\r\n"]


class neighbour(threading.Thread):
    """Asks for what nobody else asks for, over one connection and now and then a new one."""

    def __init__(self, address, name, over):
        super().__init__()
        self.address, self.label, self.over = address, name, over
        self.answers, self.faults = 0, []

    def run(self):
        while not self.over.is_set():
            try:
                with client(self.address) as peer:
                    self.ask_for_a_while(peer)
            except (OSError, silent, TypeError) as why:
                self.faults.append(f"{type(why).__name__} {why}")

    def ask_for_a_while(self, peer):
        for _ in range(50):
            target = f"/{self.label}/{self.answers}".encode()
            peer.send(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
            answer = peer.answer()
            if answer != (200, b"GET " + target + b"\n\n"):
                self.faults.append(f"{answer} for {target!r}")
            self.answers += 1
            if self.over.is_set():
                return
            time.sleep(0.002)


def reset(peer):
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    peer.close()


def attack(address, number, rnd, counts):
    held = []           # those that never read, and those that dribble
    for _ in range(number):
        peer = socket.create_connection(address, timeout=20)
        try:
            peer.sendall(rnd.choice(PARTS))
            way = rnd.choices(("resets", "half-opens", "never read", "dribbled"), (90, 6, 2, 2))[0]
            if way == "resets":
                reset(peer)
            elif way == "half-opens":
                peer.shutdown(socket.SHUT_WR)
                held.append(peer)
            elif way == "never read":
                peer.setblocking(False)
                peer.send(REQUEST * 2000)
                held.append(peer)
            else:
                held.append(peer)
            counts[way] += 1
        except OSError:
            counts["refused to us"] += 1   # the server had closed first
            peer.close()
        if len(held) > 200:
            reset(held.pop(rnd.randrange(len(held))))
            dribble = rnd.choice(held)
            try:
                dribble.send(b"x")
            except OSError:
                pass
    for peer in held:
        reset(peer)


def main():
    asked = arguments(__doc__, clients=(int, None, "that attack (4000; 112000 as a whole: 100000 of them reset)"))
    number = asked.clients or (112000 if asked.whole else 4000)
    counts = collections.Counter()
    faults = []
    with server(asked) as target:
        at_rest = target.descriptors()
        over = threading.Event()
        neighbours = [neighbour(target.address, f"n{i}", over) for i in range(2)]
        for n in neighbours:
            n.start()
        try:
            attack(target.address, number, random.Random(asked.seed), counts)
        finally:
            over.set()
            for n in neighbours:
                n.join()
        if not target.comes_to_rest(at_rest):
            faults.append(f"{target.descriptors()} descriptors, {at_rest} at rest")
    faults += [fault for n in neighbours for fault in n.faults]
    for fault in faults[:10]:
        print(fault)
    ways = ", ".join(f"{counts[w]} {w}" for w in ("resets", "half-opens", "never read", "dribbled", "refused to us"))
    print(f"http resets: {ways} (seed {asked.seed}), {sum(n.answers for n in neighbours)} neighbours' answers, {len(faults)} wrong")
    return not faults


if __name__ == "__main__":
    end_with(main)

"""Visits the chat of examples/chat as two browsers would: gets the page, and talks. Its client of WebSocket is of its own.

    check_chat.py CHAT
"""
import base64
import hashlib
import os
import signal
import socket
import subprocess
import sys


class Visitor:
    def __init__(self, port, name):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.stream = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /chat/{name} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                             f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.stream.readline()
        wanted = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        assert head.startswith(b"HTTP/1.1 101 ") and wanted in head, head

    def say(self, text):
        payload = text.encode()
        self.socket.sendall(bytes([0x81, 0x80 | len(payload), 0, 0, 0, 0]) + payload)   # masked by zeros

    def hear(self):
        first, size = self.stream.read(2)
        assert size < 126
        payload = self.stream.read(size)
        return payload.decode() if first == 0x81 else (first, payload)


def main(program):
    chat = subprocess.Popen([program, "0"], stdout=subprocess.PIPE, text=True)
    port = int(chat.stdout.readline().rsplit(":", 1)[1])
    page = socket.create_connection(("127.0.0.1", port), timeout=10)
    page.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    text = page.makefile("rb").read()
    assert text.startswith(b"HTTP/1.1 200 OK") and b"new WebSocket(" in text, text
    ann = Visitor(port, "ann")
    assert ann.hear() == "ann comes in"
    bob = Visitor(port, "bob")
    assert ann.hear() == "bob comes in" and bob.hear() == "bob comes in"
    ann.say("grüß dich")
    for visitor in (ann, bob):
        heard = visitor.hear()
        assert heard == "ann: grüß dich", heard
    chat.send_signal(signal.SIGTERM)
    for visitor in (ann, bob):
        heard = visitor.hear()
        while isinstance(heard, str):   # that the other one leaves
            heard = visitor.hear()
        assert heard == (0x88, b"\x03\xe9"), heard
        visitor.socket.sendall(bytes([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]))
    assert chat.wait(timeout=10) == 0
    print("two visitors have talked")


if __name__ == "__main__":
    main(sys.argv[1])

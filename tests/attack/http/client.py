"""A client of plain sockets that sends what it is told, and takes the answers apart."""

import re
import select
import socket

PATIENCE = 20  # seconds: a loaded machine takes its time; a server that answers nothing is found all the same


class silent(Exception):
    """Nothing came for so long."""


class client:
    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """A server that has refused may have closed: then the rest is not sent."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def half_close(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def fill(self):
        try:
            data = self.socket.recv(65536)
        except socket.timeout:
            raise silent from None
        self.received += data
        return bool(data)

    def answer(self, body_follows=True):
        """(status, body) of the next answer; None at the end of the stream. Interim answers are left out."""
        while True:
            while b"\r\n\r\n" not in self.received:
                if not self.fill():
                    return None
            head, self.received = self.received.split(b"\r\n\r\n", 1)
            status = int(re.match(rb"HTTP/1\.1 (\d{3}) ", head)[1])
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
            wanted = int(length[1]) if length and body_follows else 0
            while len(self.received) < wanted:
                if not self.fill():
                    return None
            body, self.received = self.received[:wanted], self.received[wanted:]
            if status >= 200:
                return status, body

    def is_quiet(self, seconds):
        return not self.received and not select.select([self.socket], [], [], seconds)[0]

    def ends(self):
        """Whether the stream ends here, in good order."""
        return not self.received and not self.fill() and not self.received

"""echo_server.py PORT [TLS_PORT CERTIFICATE KEY] - an HTTP/1.1 server that tests can kill: it answers with what was posted.

POST /echo gives the body back; so does GET, which has none. GET /refused/N answers 404 with a text that names N. GET /never is not answered.
"""
import asyncio
import ssl
import sys


class Connection(asyncio.Protocol):
    def __init__(self):
        self.received = bytearray()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        while self.answer_one():
            pass

    def answer_one(self):
        """Returns whether a whole request was there."""
        head_ends = self.received.find(b"\r\n\r\n")
        if head_ends < 0:
            return False
        lines = self.received[:head_ends].decode("latin-1").split("\r\n")
        length = 0
        for line in lines[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
        end = head_ends + 4 + length
        if len(self.received) < end:
            return False
        body = bytes(self.received[head_ends + 4:end])
        del self.received[:end]
        path = lines[0].split(" ")[1]
        if path.startswith("/echo"):
            self.write("200 OK", body)
        elif path.startswith("/refused/"):
            self.write("404 Not Found", b"there is no " + path.rpartition("/")[2].encode())
        return True

    def write(self, status, body):
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


async def main():
    loop = asyncio.get_running_loop()
    words = sys.argv[1:]
    servers = [await loop.create_server(Connection, "127.0.0.1", int(words[0]), backlog=1000)]
    if len(words) > 1:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(words[2], words[3])
        servers.append(await loop.create_server(Connection, "127.0.0.1", int(words[1]), ssl=context, backlog=1000))
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main())

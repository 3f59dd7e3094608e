"""The servers that the suites ask, each on a library of others: servers.py NAME PORT."""
import http.server
import pathlib
import socket
import ssl
import sys
import threading


def httpbin(port):
    from httpbin import app
    from werkzeug.serving import WSGIRequestHandler, run_simple

    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    run_simple("127.0.0.1", port, app, threaded=True)


def aiohttp(port):
    import hashlib

    from aiohttp import web

    seen = set()

    async def hello(request):
        seen.add(request.transport)
        return web.Response(text="hello")

    async def connections(request):
        seen.add(request.transport)
        return web.Response(text=str(len(seen)))

    async def digest(request):
        sha = hashlib.sha256()
        async for piece in request.content.iter_any():
            sha.update(piece)
        return web.Response(text=sha.hexdigest())

    async def big(request):
        answer = web.StreamResponse()
        await answer.prepare(request)
        text = pathlib.Path("big").read_bytes()
        for at in range(0, len(text), 70001):
            await answer.write(text[at:at + 70001])
        await answer.write_eof()
        return answer

    async def cut(request):
        answer = web.StreamResponse(headers={"Content-Length": "100"})
        await answer.prepare(request)
        await answer.write(b"half")
        request.transport.close()
        return answer

    async def refuse(request):
        raise AssertionError("it must not get so far")

    async def refusing(request):
        if request.headers.get("Expect"):
            raise web.HTTPRequestEntityTooLarge(max_size=1, actual_size=2, text="too much")

    app = web.Application(client_max_size=1 << 30)
    app.add_routes([web.get("/hello", hello), web.get("/connections", connections), web.post("/digest", digest), web.get("/big", big),
                    web.get("/cut", cut)])
    app.router.add_post("/refuse", refuse, expect_handler=refusing)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        text = f"hello {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def hello(port):
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Hello).serve_forever()


def tls(port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")

    class Server(http.server.ThreadingHTTPServer):
        def get_request(self):
            peer, address = super().get_request()
            return context.wrap_socket(peer, server_side=True, do_handshake_on_connect=False), address

        def handle_error(self, *_):
            pass   # a client that leaves in the handshake

    Server(("127.0.0.1", port), Hello).serve_forever()


def h11(port):
    import h11 as library

    def serve(peer):
        connection = library.Connection(library.SERVER)

        def event():
            while True:
                got = connection.next_event()
                if connection.they_are_waiting_for_100_continue:
                    peer.sendall(connection.send(library.InformationalResponse(status_code=100, headers=[])))
                if got is not library.NEED_DATA:
                    return got
                connection.receive_data(peer.recv(65536))

        def answer(status, text):
            head = library.Response(status_code=status, headers=[("Content-Length", str(len(text)))])
            for what in (head, library.Data(data=text), library.EndOfMessage()):
                peer.sendall(connection.send(what) or b"")

        try:
            while True:
                asked = event()
                if not isinstance(asked, library.Request):
                    return
                body = b""
                while isinstance(piece := event(), library.Data):
                    body += bytes(piece.data)
                if asked.target == b"/early":
                    peer.sendall(connection.send(library.InformationalResponse(status_code=103, headers=[("Link", "</x>")])))
                    body = b"after hints"
                answer(200, body)
                connection.start_next_cycle()
        except library.RemoteProtocolError as wrong:
            answer(400, str(wrong).encode())
        except OSError:
            pass
        finally:
            peer.close()

    listener = socket.create_server(("127.0.0.1", port))
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=serve, args=(peer,), daemon=True).start()


if __name__ == "__main__":
    {"httpbin": httpbin, "aiohttp": aiohttp, "hello": hello, "tls": tls, "h11": h11}[sys.argv[1]](int(sys.argv[2]))

"""programs.py - "Hello, world!" for each server that bench/peers/hello compares: programs.py SERVER PORT WORKERS serves it."""
import sys


def wsgi(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "13")])
    return [b"Hello, world!"]


def function(request):
    return b"Hello, world!"


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain"), (b"content-length", b"13")]})
    await send({"type": "http.response.body", "body": b"Hello, world!"})


def heavy(request):
    """A handler that computes for some 500 us."""
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    fib(17)
    return b"Hello, world!"


def weft(app, interface, port, workers, **options):
    import weft
    weft.serve(app, f"127.0.0.1:{port}", interface=interface, workers=workers, **options)


def constant(port, workers):
    import weft
    server = weft.Server()
    server.constant("/", "Hello, world!")
    server.serve(f"127.0.0.1:{port}", workers=workers)


def logged(port, workers):
    with open("/dev/null", "wb") as log:
        weft(wsgi, "wsgi", port, workers, access_log=log)


def fastwsgi(port, workers):
    import fastwsgi
    fastwsgi.run(wsgi_app=wsgi, host="127.0.0.1", port=port, loglevel=0)


def granian(interface, port, workers):
    from granian import Granian
    Granian("programs:" + interface, address="127.0.0.1", port=port, interface=interface, workers=1, log_enabled=False).serve()


def uvicorn(port, workers):
    import uvicorn
    uvicorn.run(asgi, host="127.0.0.1", port=port, loop="uvloop", http="httptools", log_level="critical", access_log=False, lifespan="off")


SERVERS = {
    "weft-constant": constant,
    "weft-plain": lambda port, workers: weft(function, "plain", port, workers),
    "weft-wsgi": lambda port, workers: weft(wsgi, "wsgi", port, workers),
    "weft-wsgi-logged": logged,
    "weft-asgi": lambda port, workers: weft(asgi, "asgi", port, workers),
    "fastwsgi": fastwsgi,
    "granian-wsgi": lambda port, workers: granian("wsgi", port, workers),
    "granian-asgi": lambda port, workers: granian("asgi", port, workers),
    "uvicorn": uvicorn,
    "weft-heavy-1": lambda port, workers: weft(heavy, "plain", port, 2),
    "weft-heavy-2": lambda port, workers: weft(heavy, "plain", port, 1, processes=2),
    "weft-heavy-interpreters-1": lambda port, workers: weft("programs:heavy", "plain", port, 2, interpreters=1),
    "weft-heavy-interpreters-2": lambda port, workers: weft("programs:heavy", "plain", port, 2, interpreters=2),
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))

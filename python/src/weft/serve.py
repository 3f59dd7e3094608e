"""weft.serve(app, at) - an HTTP server for functions, and for WSGI and ASGI programs, each request on a fiber of its own."""
import weft as _weft


def serve(app, at="127.0.0.1:8080", *, interface="plain", workers=None, grace=10.0, on_ready=None, **options):
    """Serves an application at "host:port" until SIGTERM or SIGINT (on the main thread), or until the fiber that calls it is stopped.

    interface="plain": app(request) gets a weft.Request and returns bytes, str, None (204), a generator of pieces, or a weft.Response.
    interface="wsgi": app is a program of PEP 3333, for example one of Flask or Django.
    interface="asgi": app is an application of ASGI 3, for example one of Starlette or FastAPI, or a Django project's. It runs on an asyncio
    loop, on a thread of its own; loop=uvloop.new_event_loop makes that another one.
    on_ready(address) is called when it listens, for ASGI after the startup of the lifespan. workers, grace: see weft.Server.serve(); all other options: see weft.Server.

    The parsing, the limits, files of `static` and the log run on all cores without the GIL.
    """
    _weft.Server(app, interface=interface, **options).serve(at, workers=workers, grace=grace, on_ready=on_ready)

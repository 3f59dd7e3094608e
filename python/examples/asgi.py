"""asgi.py - an ASGI application: asyncio counts visits for it, from its startup on, and an answer is sent piece by piece."""
import asyncio
import sys

import weft


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()                                   # {"type": "lifespan.startup"}
        scope["state"]["visits"] = asyncio.Queue()        # what a program opens once: pools, clients
        await send({"type": "lifespan.startup.complete"})
        await receive()                                   # {"type": "lifespan.shutdown"}: all requests have ended
        await send({"type": "lifespan.shutdown.complete"})
        return
    visits = scope["state"]["visits"]
    await visits.put(scope["path"])
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    for n in range(visits.qsize()):
        await send({"type": "http.response.body", "body": b"visit %d\n" % n, "more_body": True})
        await asyncio.sleep(0.01)                         # others are served meanwhile
    await send({"type": "http.response.body"})


if __name__ == "__main__":
    weft.serve(app, sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8080", interface="asgi", on_ready=lambda at: print(at, flush=True))

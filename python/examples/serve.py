"""serve.py - an HTTP server in Python: each request is a fiber, so a handler may wait, block or compute."""
import time

import weft


def hello(request):
    name = request.query.get("name", "world")
    time.sleep(0.05)                    # any function, any library: it holds up no other request
    return f"Hello, {name}!\n"


if __name__ == "__main__":
    weft.serve(hello, "127.0.0.1:8080")

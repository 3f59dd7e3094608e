"""What stands for the HTTP server where weft was built without it: each name says so when it is used."""


def serve(*args, **options):
    raise RuntimeError("weft: this package was built without HTTP; build it where the headers of Boost, zlib and zstd are "
                       "(Debian: libboost-dev, zlib1g-dev, libzstd-dev)")


class Server:
    def __init__(self, *args, **options):
        serve()


class Request(Server):
    pass


class Response(Server):
    pass


class BodyError(OSError):
    pass

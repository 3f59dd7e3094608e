"""Requests as h11 reads them, which was written from the RFC's grammar."""

import h11


def decline(connection):
    """Answers, so that the next request may be read. Whether the connection goes on."""
    connection.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
    if connection.our_state is h11.SWITCHED_PROTOCOL:  # CONNECT
        return False
    connection.send(h11.EndOfMessage())
    if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
        return False
    connection.start_next_cycle()
    return True


def read_by_h11(data):
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    read = []
    now = None
    try:
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                now = (event.method, event.target, list(event.headers.raw_items()), [])
            elif isinstance(event, h11.Data):
                now[3].append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                read.append((*now[:3], b"".join(now[3])))
                if not decline(connection):
                    return read
            else:  # more bytes wanted, paused, or closed
                return read
    except h11.RemoteProtocolError:
        return read

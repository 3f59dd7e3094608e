#!/usr/bin/env python3
"""check_c_echo.py PROGRAM - examples/c_echo answers many connections at once, ends with 0 at SIGTERM and SIGINT while connections are
open, writes back what it has read before it ends, and says how it is called."""
import re
import signal
import socket
import subprocess
import sys


def fail(why):
    sys.exit(f"check_c_echo: {why}")


def receive(s, n):
    got = b""
    while len(got) < n and (piece := s.recv(n - len(got))):
        got += piece
    return got


def check_usage(program, *words):
    run = subprocess.run([program, *words], capture_output=True, text=True)
    if run.returncode != 2 or run.stdout or not re.fullmatch(r"c_echo: usage: [^\n]*\n", run.stderr):
        fail(f"with {words} it returned {run.returncode} and wrote {run.stdout!r}, {run.stderr!r}")


def check_server(program, end):
    server = subprocess.Popen([program, "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        found = re.fullmatch(r"c_echo: listening on 127\.0\.0\.1:(\d+)\n", line)
        if not found:
            fail(f"it began with {line!r}")
        open_ones = [socket.create_connection(("127.0.0.1", int(found[1]))) for _ in range(20)]
        for round_ in range(3):
            for i, s in enumerate(open_ones):
                s.sendall(b"%d of %d;" % (round_, i) * 1000)
            for i, s in enumerate(open_ones):
                expected = b"%d of %d;" % (round_, i) * 1000
                if receive(s, len(expected)) != expected:
                    fail(f"connection {i} got something else back")
        open_ones[0].shutdown(socket.SHUT_WR)
        if open_ones[0].recv(1):
            fail("a connection whose peer has ended its side got more")
        server.send_signal(end)
        for s in open_ones[1:]:
            if s.recv(1):
                fail("a connection got more at the end")
        rest, complaints = server.communicate()
        if server.returncode != 0 or complaints or not re.fullmatch(r"c_echo: [^\n]+, stopping\n", rest):
            fail(f"it ended with {server.returncode}, wrote {rest!r} and {complaints!r}")
    finally:
        server.kill()
        server.wait()


def check_port_in_use(program):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = subprocess.run([program, f"127.0.0.1:{taken.getsockname()[1]}"], capture_output=True, text=True)
    if run.returncode != 1 or not re.fullmatch(r"c_echo: listening: [^\n]+\n", run.stderr):
        fail(f"with a port in use it returned {run.returncode} and wrote {run.stderr!r}")


if len(sys.argv) != 2:
    sys.exit(__doc__)
for end in (signal.SIGTERM, signal.SIGINT):
    check_server(sys.argv[1], end)
check_port_in_use(sys.argv[1])
check_usage(sys.argv[1], "127.0.0.1:7000", "more")
check_usage(sys.argv[1], "--help")
check_usage(sys.argv[1], "127.0.0.1:port")

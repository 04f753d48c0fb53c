"""Blocking sockets: bytes to the service, and its answer; bytes of a far side to the service."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.attack.wire import Answer

BYTES_MAX = 8_388_608


def exchanged(port: int, request: bytes, within_s: float) -> Answer | None:
    """The first answer to some bytes; None when none comes in that time."""
    with socket.create_connection(("127.0.0.1", port), timeout=within_s) as line, suppress(OSError):
        line.sendall(request)
        return _read(line, head=request.startswith(b"HEAD "))
    return None


def _read(line: socket.socket, *, head: bool) -> Answer | None:
    raw = b""
    while True:
        while b"\r\n\r\n" not in raw:
            if not (more := line.recv(65_536)) or len(raw) > BYTES_MAX:
                return None
            raw += more
        first, _, raw = raw.partition(b"\r\n\r\n")
        lines = first.decode("latin-1").split("\r\n")
        if (status := int(lines[0].split(" ")[1])) >= 200:
            break
    headers = {name.strip().lower(): text.strip() for name, _, text in (one.partition(":") for one in lines[1:])}
    length = 0 if head or status in {204, 304} else int(headers.get("content-length", "0"))
    while len(raw) < length and (more := line.recv(65_536)):
        raw += more
    return Answer(status, headers, raw[:length])


class RawFarSide:
    """A server that answers any request with the bytes that are set."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answer = b""


@contextmanager
def raw_far_side() -> Iterator[RawFarSide]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.request.settimeout(2.0)
                while b"\r\n\r\n" not in self.request.recv(65_536):
                    pass
                self.request.sendall(far.answer)
                self.request.shutdown(socket.SHUT_WR)
                self.request.recv(65_536)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        far = RawFarSide(server.server_address[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield far
        finally:
            server.shutdown()

"""Refusals that cost next to nothing: the answer of a service that has no room, ready for the wire."""

from __future__ import annotations

from daemon.web.plain import Wording
from daemon.web.problems import OVERLOADED, RETRY_AFTER_S, SERVER, unavailable

_MARK = "{}"
_HEAD = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: %d\r\n"
    b"Server: %s\r\nX-Request-ID: %%b\r\nContent-Length: %%d\r\n\r\n%%b%%b%%b"
) % (RETRY_AFTER_S, SERVER.encode())
REFUSAL = Wording(_HEAD, *unavailable("overloaded", OVERLOADED).body(_MARK).split(_MARK.encode()))

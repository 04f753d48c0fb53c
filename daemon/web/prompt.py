"""Prompt answers: a read of a run that is in memory is answered as it comes, without being taken apart.

Nearly half of what a read costs is to make a request, a task and an answer of it. Where all that it says is which run
and whose token, its answer is known at once. Whatever is out of the ordinary goes the way of all other requests.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cached_property, lru_cache

from aiohttp.helpers import rfc822_formatted_time

from actors.run import Run
from actors.values import value
from daemon.identity import NotAuthenticated
from daemon.web.plain import END, HEAD_BYTES_MAX, HEADS_KEPT, SPECIAL, accepted_id, fields_of, is_lasting
from daemon.web.problems import SERVER, etag
from daemon.web.rendered import Rendered
from daemon.web.replies import JSON
from daemon.web.services import Services

ROUTE = "/process-runs/{run_id}"
OK = 200
FIELDS_MAX = 100
_LINE = re.compile(rb"GET /process-runs/([0-9a-f-]{36}) HTTP/1\.1\r\n")
_BEARER = re.compile(rb"Bearer ([A-Za-z0-9._-]+)")
# What changes the answer, or is for aiohttp's parser to judge.
_JUDGED = SPECIAL | {b"content-encoding", b"if-none-match", b"proxy-connection", b"sec-websocket-key1"}


@value
class Asked:
    """What the fields of a read say."""

    token: str
    request_id: str


class PromptReads:
    """Answers reads of runs that are in memory; counted like all others, and left to them where each is logged."""

    def __init__(self, services: Services, rendered: Rendered) -> None:
        """Answer from these."""
        self._services = services
        self._rendered = rendered
        self._on = services.tracer is None and services.settings.access_log != "all"

    def answer(self, data: bytes) -> bytes | None:
        """The answer to what has arrived, if that is one whole read and nothing about it is out of the ordinary."""
        line = _LINE.match(data)
        if line is None or not self._on or not data.endswith(END) or len(data) > HEAD_BYTES_MAX:
            return None
        began, said = time.perf_counter(), asked(data[line.end() : -len(END)])
        run = None if said is None else self._run(said.token, line[1].decode())
        if said is None or run is None or run.parked:
            return None
        body = self._rendered.body(run)
        answer = _head(run.version, accepted_id(said.request_id), len(body)) + body
        if self._took is not None:
            self._took(time.perf_counter() - began)
        return answer

    @cached_property
    def _took(self) -> Callable[[float], None] | None:
        """Who counts reads, if somebody does; asked for with the first, as what never was is not among the figures."""
        requested = self._services.requested
        return None if requested is None else requested("GET", ROUTE, OK)

    def _run(self, token: str, run_id: str) -> Run | None:
        """The run, if it is in memory and the token is one that counts and was seen before."""
        identity = self._services.identity
        if identity.known(token) is None:
            return None
        try:
            company_id = identity.principal(token).company_id
        except NotAuthenticated:
            return None
        return self._services.directory.live(company_id, run_id)


def _head(version: int, request_id: str, size: int) -> bytes:
    """The head of the answer, as all other answers have it."""
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nETag: {etag(str(version))}\r\nX-Request-ID: {request_id}\r\n"
        f"Server: {SERVER}\r\nContent-Length: {size}\r\nDate: {rfc822_formatted_time()}\r\n\r\n"
    ).encode()


@lru_cache(HEADS_KEPT)
def asked(head: bytes) -> Asked | None:
    """What the fields of a request say, if they are those of an ordinary read; who reads often says the same."""
    fields = fields_of(head.split(b"\r\n"))
    if fields is None or len(fields) > FIELDS_MAX or b"host" not in fields or not _JUDGED.isdisjoint(fields):
        return None
    bearer = _BEARER.fullmatch(fields.get(b"authorization", b""))
    if bearer is None or not is_lasting(fields) or fields.get(b"content-length", b"0") != b"0":
        return None
    return Asked(bearer[1].decode(), fields.get(b"x-request-id", b"").decode("latin-1"))

"""Reads the bodies of requests, in a room that is bounded for each company and network."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from aiohttp import HttpVersion11, web

from actors.actor import Overloaded
from actors.ports import LIGHT_BYTES_MAX, Asker
from daemon.model.budgets import Budgets
from daemon.runtime.inflate import InflatesTooFar, NotCompressed, inflate
from daemon.web.clients import CLIENTS
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import NOBODY, company_of
from daemon.web.middleware.occupancy import receiving
from daemon.web.problems import ENCODINGS, HttpProblem, quota_exceeded, unsupported_encoding
from daemon.web.services import SERVICES

AUTH = "/auth/"
AUTH_BYTES_MAX = 16 * 1024
STRANGERS_PART = 4
"""Callers without a token have a room of their own, by so much smaller than that of companies."""
OBJECT_BYTES = 256
LIST_BYTES = 96
HEAVIEST_PART = 4
"""One body is never counted for more than one part of so many: alone it is taken always."""
T = TypeVar("T")


class MemoryBudget:
    """Memory for bodies: `each_max` for one caller, and never more than is free for the others."""

    def __init__(self, bytes_max: int, budget: str, each_max: int) -> None:
        self.free = bytes_max
        self.heaviest = min(bytes_max, each_max) // HEAVIEST_PART
        self._bytes_max = bytes_max
        self._budget = budget
        self._each_max = each_max
        self._held: Counter[str] = Counter()

    @property
    def is_empty(self) -> bool:
        return self.free == self._bytes_max

    def reserve(self, who: str, size: int) -> None:
        held = self._held[who] + size
        if held > self._each_max:
            detail = f"Request bodies take more than {self._each_max} bytes at once; send fewer at a time."
            raise quota_exceeded(self._budget, self._each_max, detail)
        if held > self.free:
            raise Overloaded
        self.free -= size
        self._held[who] = held

    def give_back(self, who: str, size: int) -> None:
        self.free += size
        self._held[who] -= size
        if not self._held[who]:
            del self._held[who]


class BodyBuffers:
    """The rooms for bodies that arrive: one for companies, one for networks without a token."""

    def __init__(self, bytes_max: int, budgets: Budgets) -> None:
        self.companies = MemoryBudget(bytes_max, "company_body_bytes", budgets.company_body_bytes_max)
        strangers_max = bytes_max // STRANGERS_PART
        self.strangers = MemoryBudget(strangers_max, "network_body_bytes", budgets.network_body_bytes_max)


INCOMING_BODIES = web.AppKey("incoming_bodies", BodyBuffers)


class Reservation:
    """The room that the body of one request takes until the request is answered."""

    def __init__(self, request: web.Request) -> None:
        rooms, company_id = request.app[INCOMING_BODIES], company_of(request)
        self.who = company_id or request.app[CLIENTS].prefix(request)
        self._room = rooms.strangers if company_id == NOBODY else rooms.companies
        self._size = 0
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler runs in the task of its request
        task.add_done_callback(self._give_back)

    def extend(self, size: int) -> None:
        self._room.reserve(self.who, size)
        self._size += size

    def extend_for_values(self, raw: bytes) -> None:
        """Take what the values of a large body need beside its bytes."""
        size = OBJECT_BYTES * raw.count(b"{") + LIST_BYTES * raw.count(b"[")
        self.extend(min(size, max(0, self._room.heaviest - len(raw))))

    def _give_back(self, _: object) -> None:
        self._room.give_back(self.who, self._size)


HELD_ROOM = web.RequestKey("held_room", Reservation)
LARGE = web.RequestKey("large_body", bool)


def is_large(request: web.Request) -> bool:
    """Whether work on the body takes too long for the event loop."""
    return LARGE in request and request[LARGE]


async def beside_loop(request: web.Request, work: Callable[[], T]) -> T:
    """The value of `work()`, which is linear in the size of the request's body."""
    if not is_large(request):
        return work()
    with slot_released():
        return await request.app[SERVICES].offload.run(_held(request).who, work)


async def evaluated(request: web.Request, work: Callable[[], T]) -> T:
    """The value of pure `work()`, which evaluates what the request's body says."""
    with slot_released():
        return await request.app[SERVICES].evaluator.beside(Asker(_held(request).who), work)


async def read_bytes(request: web.Request) -> bytes:
    """The whole body, inflated; 413 when it is too large, 503 when there is no room for it."""
    if not request.body_exists:
        return b""
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ENCODINGS:
        raise unsupported_encoding()
    bytes_max = request.client_max_size
    if request.path.startswith(AUTH):
        bytes_max = min(bytes_max, AUTH_BYTES_MAX)
    raw = await _arrived(request, bytes_max)
    if encoding != "identity":
        raw = await _inflated(request, raw, encoding, bytes_max)
    if len(raw) > LIGHT_BYTES_MAX:
        request[LARGE] = True
        _held(request).extend_for_values(raw)
    return raw


async def _arrived(request: web.Request, bytes_max: int) -> bytes:
    try:
        if request.content.is_eof():
            raw = await request.read()
        elif (request.content_length or 0) > bytes_max:
            raise too_large(bytes_max)  # without waiting for it
        else:
            await _go_on(request)
            body_timeout_s = request.app[SERVICES].settings.body_timeout_s
            with slot_released(), receiving(request):
                async with asyncio.timeout(body_timeout_s):
                    return await _arriving(request, bytes_max)
    except TimeoutError:
        raise HttpProblem("request_timeout", f"The body did not arrive within {body_timeout_s:g} s.") from None
    except web.RequestPayloadError as error:
        error.__traceback__ = None  # its frames hold the body, which holds the error: a ring
        raise not_encoded() from None
    except web.HTTPRequestEntityTooLarge:
        raise too_large(bytes_max) from None
    if len(raw) > bytes_max:
        raise too_large(bytes_max)
    return raw


async def _arriving(request: web.Request, bytes_max: int) -> bytes:
    held, body = _held(request), bytearray()
    while chunk := await request.content.readany():
        if len(body) + len(chunk) > bytes_max:
            raise too_large(bytes_max)
        held.extend(len(chunk))
        body += chunk
    return bytes(body)


async def _inflated(request: web.Request, raw: bytes, encoding: str, bytes_max: int) -> bytes:
    request[LARGE] = bytes_max > LIGHT_BYTES_MAX
    if request[LARGE]:
        _held(request).extend(bytes_max)
    try:
        return await beside_loop(request, partial(inflate, raw, encoding, bytes_max))
    except NotCompressed:
        raise not_encoded() from None
    except InflatesTooFar as error:
        raise too_large(error.limit) from None
    finally:
        request[LARGE] = False


async def _go_on(request: web.Request) -> None:
    """Ask for the body of a caller who waits for that (RFC 9110, 10.1.1)."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.version >= HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # of the answer nothing is sent yet


def _held(request: web.Request) -> Reservation:
    held = request.get(HELD_ROOM)
    if held is None:
        held = request[HELD_ROOM] = Reservation(request)
    return held


def too_large(limit: int) -> HttpProblem:
    return HttpProblem("too_large", f"The body is larger than {limit} bytes.", {"limit": limit})


def not_encoded() -> HttpProblem:
    return HttpProblem("malformed_json", "The body is not encoded as its headers say.")

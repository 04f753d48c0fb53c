"""Requests and streams over HTTP, repeated where that is safe, as models and whole lists."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import aiohttp
from pydantic import BaseModel, TypeAdapter, ValidationError
from yarl import URL

from daemon.contract.base import Response
from daemon.contract.company import GatedChange
from daemon.contract.events import CompanyEvent, Event, GateChanged

MEMBERS = ("type", "title", "status", "detail", "code", "request_id", "retryable")
TEXT_MEMBERS = ("type", "title", "detail", "code", "request_id")
NO_PROBLEM_DOCUMENT = "no_problem_document"
STRANGER = "What answers at this address is no Penstock service."


class AwaitsApproval(Exception):
    """It is not done: the company lets another person approve such a change first."""

    def __init__(self, change: GatedChange) -> None:
        super().__init__(f"It waits for another person's approval, as the change {change.id}.")
        self.change = change


@dataclass(slots=True, eq=False)
class Problem(Exception):
    """A refusal (RFC 9457); `more` has the members beyond the common ones."""

    status: int
    code: str
    detail: str
    title: str = ""
    type: str = "about:blank"
    request_id: str = ""
    retryable: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
    retry_after_s: float | None = None

    def __str__(self) -> str:
        return self.detail

    @property
    def outcome(self) -> str | None:
        """Of a 503: `not_applied`, or `unknown` when only a repeat under the same key can tell."""
        return self.more.get("outcome")

    def means(self, status: int) -> bool:
        """Whether the service itself refused with this status, and not a proxy before it."""
        return self.status == status and self.code != NO_PROBLEM_DOCUMENT

    @classmethod
    def from_response(cls, status: int, headers: Mapping[str, str], raw: bytes) -> Problem:
        """The problem in a response; one without comes from a proxy."""
        asked = headers.get("Retry-After", "")
        after_s = float(asked) if asked.isdecimal() else None
        try:
            body = json.loads(raw)
            known = {name: body[name] for name in MEMBERS}
            "".join(known[name] for name in TEXT_MEMBERS)  # TypeError where one is no text
        except (ValueError, KeyError, TypeError, RecursionError):
            detail = f"The answer has status {status}, and is none of this service."
            return cls(status, NO_PROBLEM_DOCUMENT, detail, retry_after_s=after_s)
        more = {name: value for name, value in body.items() if name not in MEMBERS}
        return cls(**{**known, "status": status}, more=more, retry_after_s=after_s)


class Unreachable(Exception):
    """No whole response came; a change may have been made all the same."""


class HistoryChanged(Response):
    """The database has failed over and lost what followed `first`, the id where a stream goes on.

    Events that were read behind it have not happened; what happened instead comes next.
    """

    type: Literal["history_changed"]
    first: str
    detail: str


R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")
RETRY_STATUSES = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
CONNECTION_ERRORS = (
    aiohttp.ClientConnectionError,
    aiohttp.ClientPayloadError,
    aiohttp.ClientResponseError,
    TimeoutError,
)
CONNECT_S = 10.0
# The service says that it is still there every 15 s.
SILENCE_S = 45.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a request is repeated on a lost connection, 429 and 503."""

    tries_max: int = 8
    total_s: float = 30.0
    first_s: float = 0.2
    longest_s: float = 10.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def pause_s(self, tried: int, asked_s: float | None = None) -> float | None:
        """The pause after so many attempts, with jitter; None to give up."""
        if tried >= self.tries_max:
            return None
        wait_s = min(self.longest_s, self.first_s * 2 ** (tried - 1)) if asked_s is None else asked_s
        wait_s *= 1 + random.random() / 4  # noqa: S311 - so that callers do not come back all at once
        return wait_s if wait_s <= self.total_s else None

    async def pause(self, tried: int, failure: Problem | Unreachable) -> None:
        """Pause after so many attempts, or raise the failure to give up."""
        pause_s = self.pause_s(tried, getattr(failure, "retry_after_s", None))
        if pause_s is None:
            raise failure
        await self.sleep(pause_s)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request; `repeatable` ones are sent again when it is unknown whether they arrived."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True


@dataclass(frozen=True, slots=True)
class ApiResponse:
    status: int
    headers: Mapping[str, str]
    raw: bytes

    def read(self, model: type[R]) -> R:
        return self.read_as(TypeAdapter(model))

    def done(self, model: type[R]) -> R:
        """What was done; AwaitsApproval where it waits for another person."""
        if self.status == HTTPStatus.ACCEPTED:
            raise AwaitsApproval(self.read(GatedChange))
        return self.read(model)

    def read_as(self, adapter: TypeAdapter[T]) -> T:
        return read_json(adapter.validate_json, self.raw)


def read_json(validate: Callable[[bytes], T], raw: bytes) -> T:
    """What a service of this kind says; Unreachable where it is none."""
    try:
        return validate(raw)
    except ValidationError:
        raise Unreachable(STRANGER) from None


def keyed(key: str | None) -> dict[str, str]:
    """The header by which a request counts once: under this key, or under a fresh one."""
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def path(*segments: str) -> str:
    """The path of these segments, whatever they hold."""
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


async def lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Whole lines without their ends, however long: an event holds all that a run was given."""
    rest: list[bytes] = []
    async for chunk in response.content.iter_any():
        first, *more = chunk.split(b"\n")
        rest.append(first)
        for line in more:
            yield b"".join(rest)
            rest = [line]


class Transport:
    """Connections to one service; the token goes nowhere else, redirects are not followed."""

    def __init__(self, base_url: str, token: str, patience: Patience, timeout_s: float) -> None:
        base = URL(base_url)
        if base.scheme not in {"http", "https"} or not base.host or base.query_string or base.fragment or base.user:
            raise ValueError("The address of a service is an http or https URL without user, query and fragment.")
        self.base, self.token, self.patience = str(base).rstrip("/"), token, patience
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_S)
        self._session: aiohttp.ClientSession | None = None

    def open(self) -> None:
        self._session = aiohttp.ClientSession(timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar())

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, request: ApiRequest) -> ApiResponse:
        """The response if it is below 300; else Problem, or Unreachable when there is none."""
        until, tried = asyncio.get_running_loop().time() + self.patience.total_s, 0
        while True:
            tried += 1
            try:
                response = await self.send_once(request)
            except CONNECTION_ERRORS as error:
                repeatable = request.repeatable or isinstance(error, aiohttp.ClientConnectorError)
                failure: Problem | Unreachable = self.unreachable(error)
            else:
                if response.status < HTTPStatus.MULTIPLE_CHOICES:
                    return response
                failure = Problem.from_response(response.status, response.headers, response.raw)
                repeatable = response.status in RETRY_STATUSES and (
                    request.repeatable or failure.outcome == "not_applied"
                )
            pause_s = self.patience.pause_s(tried, getattr(failure, "retry_after_s", None))
            if not repeatable or pause_s is None or asyncio.get_running_loop().time() + pause_s > until:
                raise failure
            await self.patience.sleep(pause_s)

    async def send_once(self, request: ApiRequest) -> ApiResponse:
        """The response to one attempt, whatever it is."""
        async with self._request(request, self._timeout) as response:
            return ApiResponse(response.status, response.headers, await response.read())

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response that is read while it comes; Problem from 300 on."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENCE_S)
        async with self._request(request, timeout) as response:
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                raise Problem.from_response(response.status, response.headers, await response.read())
            yield response

    def unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(f"The service at {self.base} cannot be reached: {_why(error)}")

    @asynccontextmanager
    async def _request(
        self, request: ApiRequest, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            raise RuntimeError("the client is used outside of `async with`")
        headers = {"Accept": "application/json", **request.headers}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        query = f"?{urlencode(request.query)}" if request.query else ""
        url = URL(f"{self.base}{request.path}{query}", encoded=True)
        async with self._session.request(
            request.method, url, json=request.body, headers=headers, timeout=limits, allow_redirects=False
        ) as response:
            yield response


def _why(error: Exception) -> str:
    """The reason as the end of a sentence, without the library's own."""
    match error:
        case TimeoutError():
            return "it did not answer in time."
        case aiohttp.ClientSSLError():
            return "there is no TLS with it; is it http://?"
        case aiohttp.ClientConnectorError(os_error=OSError(errno=int(number))) if number > 0:
            return f"{os.strerror(number).lower()}."
        case aiohttp.ClientConnectorError(os_error=OSError(strerror=str(said))):
            return f"{said.lower()}."
        case _:
            return f"{str(error) or type(error).__name__}."


_NEXT = re.compile(r"<([^<>]*)>\s*;[^,<]*\brel=\"?next\"?")
TIMEOUT_S = 75.0


class BaseClient:
    """Speaks to the service at an address; `timeout_s` bounds each attempt."""

    def __init__(
        self, base_url: str, token: str = "", *, patience: Patience | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._transport = Transport(base_url, token, patience or Patience(), timeout_s)

    async def _get(self, model: type[R], *segments: str, query: Mapping[str, str] | None = None) -> R:
        return (await self._transport.send(ApiRequest("GET", path(*segments), query or {}))).read(model)

    async def _put(self, model: type[R], *segments: str, body: Mapping[str, Any]) -> R:
        return (await self._transport.send(ApiRequest("PUT", path(*segments), body=body))).done(model)

    async def _post(
        self,
        model: type[R],
        address: str,
        body: Mapping[str, Any],
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> R:
        """Send a command that counts once: under this key, or under a fresh one."""
        request = ApiRequest("POST", address, body=body, headers={**keyed(key), **(headers or {})})
        return (await self._transport.send(request)).read(model)

    async def _post_once(self, model: type[R], *segments: str, body: Mapping[str, Any]) -> R:
        """Send what must not be repeated when its response is lost."""
        request = ApiRequest("POST", path(*segments), body=body, repeatable=False)
        return (await self._transport.send(request)).read(model)

    async def _delete(self, *segments: str) -> None:
        try:
            await self._transport.send(ApiRequest("DELETE", path(*segments)))
        except Problem as problem:
            if not problem.means(HTTPStatus.NOT_FOUND):
                raise  # else it is gone, perhaps by an attempt whose response was lost

    async def _all(
        self, address: str, adapter: TypeAdapter[list[T]], query: Mapping[str, str] | None = None
    ) -> AsyncIterator[T]:
        page: Mapping[str, str] | None = query or {}
        seen = set[frozenset[tuple[str, str]]]()
        while page is not None:
            if (asked := frozenset(page.items())) in seen:
                raise Unreachable(STRANGER)  # it would never end
            seen.add(asked)
            response = await self._transport.send(ApiRequest("GET", address, page))
            for one in response.read_as(adapter):
                yield one
            page = _next_page(response)


def _next_page(response: ApiResponse) -> Mapping[str, str] | None:
    """The query of the next page; not its path, which a proxy may have changed."""
    found = _NEXT.search(response.headers.get("Link", ""))
    return None if found is None else dict(parse_qsl(urlsplit(found[1]).query))


def filters(**members: str | datetime | None) -> dict[str, str]:
    """The query of a list, without the filters that are None."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in members.items()
        if value is not None
    }


def without_none(**members: Any) -> dict[str, Any]:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def waiting(wait_s: int | None) -> dict[str, str]:
    if wait_s is None:
        return {}
    return {"Prefer": f"wait={wait_s}" if wait_s else "respond-async"}


ENDED = "run_ended"
GATE_CHANGED = "gate_changed"


@dataclass(slots=True)
class StreamPosition:
    """How far somebody has come in a stream; `over` when nothing more can follow."""

    last_id: str | None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A server-sent event: without data it is a position only, without an id no event."""

    id: str
    name: str
    data: bytes


async def follow_run(
    transport: Transport, path: str, after: int
) -> AsyncIterator[Event | GateChanged | HistoryChanged]:
    """The events of a run after a number, and changes of its open gates, until it has ended."""
    reader = StreamPosition(str(after))
    async for frame in _followed(transport, path, reader):
        if isinstance(frame, HistoryChanged):
            after = 0  # a run begins anew
            yield frame
        elif not frame.id:
            if frame.name == GATE_CHANGED:
                yield read_json(GateChanged.model_validate_json, frame.data)
        elif (event := read_json(Event.model_validate_json, frame.data)).seq > after:
            after, reader.over = event.seq, reader.over or event.type == ENDED
            reader.last_id = str(after)
            yield event


async def follow_company(
    transport: Transport, path: str, after: str | None
) -> AsyncIterator[CompanyEvent | HistoryChanged]:
    """Every event of all runs behind a place, or from now on, without an end."""
    reader = StreamPosition(after)
    async for frame in _followed(transport, path, reader):
        if isinstance(frame, HistoryChanged):
            yield frame
            continue
        reader.last_id = frame.id or reader.last_id
        if frame.id and frame.data:
            yield read_json(CompanyEvent.model_validate_json, frame.data)


async def _followed(transport: Transport, path: str, reader: StreamPosition) -> AsyncIterator[Frame | HistoryChanged]:
    """The frames of a stream, over reconnections; attempts count anew after each sign of life."""
    tried = 0
    while True:
        failure: Problem | Unreachable
        try:
            async with transport.stream(_request(path, reader.last_id)) as response:
                if response.status == HTTPStatus.NO_CONTENT:
                    return
                async for frame in _frames(response):
                    tried = 0
                    if frame is not None:
                        yield frame
            if reader.over:
                return
            failure = Unreachable("The service ended the stream, and there is more to come.")
        except CONNECTION_ERRORS as error:
            failure = transport.unreachable(error)
        except Problem as problem:
            failure, changed = problem, _changed(problem, reader)
            if changed is not None:
                yield changed
            elif problem.status not in RETRY_STATUSES:
                raise
        tried += 1
        await transport.patience.pause(tried, failure)


def _changed(problem: Problem, reader: StreamPosition) -> HistoryChanged | None:
    """Go on where the history begins that took the place of a lost one; None for other problems."""
    first = problem.more.get("first")
    if problem.code != "history_changed" or not isinstance(first, str) or first == reader.last_id:
        return None
    reader.last_id = first
    return HistoryChanged(type="history_changed", first=_label(first.encode(errors="replace")), detail=problem.detail)


def _request(path: str, last_id: str | None) -> ApiRequest:
    known = {} if last_id is None else {"Last-Event-ID": last_id}
    return ApiRequest("GET", path, headers={"Accept": "text/event-stream", **known})


def _label(raw: bytes) -> str:
    """A name or an id; Unreachable for what no header can send back."""
    label = raw.decode(errors="surrogateescape").strip()
    if not label.isprintable():
        raise Unreachable(STRANGER)
    return label


async def _frames(response: aiohttp.ClientResponse) -> AsyncIterator[Frame | None]:
    """The frames of one connection; None for a heartbeat."""
    place, title, data = "", "", list[bytes]()
    async for line in lines(response):
        name, _, text = line.rstrip(b"\r").partition(b":")
        if name == b"data":
            data.append(text)
        elif name == b"id":
            place = _label(text)
        elif name == b"event":
            title = _label(text)
        elif not line and (data or place):
            yield Frame(place, title, b"\n".join(data))
            place, title, data = "", "", []
        else:
            yield None

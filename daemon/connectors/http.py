"""One outgoing HTTP request: sent once, limited in time and size, with a span around it."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver
from aiohttp.client_middlewares import ClientHandlerType
from multidict import CIMultiDict
from yarl import URL

from actors.context import LOG_CONTEXT, TRACE
from actors.core.calls import BODILESS, CallRequest, Connector
from actors.core.canonical import canonical, json_size
from actors.failpoints import reach
from daemon.connectors.credentials import client_context, credentials
from daemon.connectors.egress import BadUrl, DnsResolver, EgressGuard, EgressRefused, guarded_connector
from daemon.runtime import json_codec
from daemon.runtime.clock import utc_now
from daemon.runtime.offload import Offload

if TYPE_CHECKING:
    from daemon.observability.spans import Tracer

_log = structlog.get_logger()
T = TypeVar("T")
BODY_BYTES_MAX = 256 * 1024
PIECES_FREE, PIECE_BYTES_MIN = 1_000, 16
"""Beyond so many, pieces of an answer have to have so many bytes: each takes time of everybody."""
KEPT_S = 1.0
"""How long a connection is kept for another message: servers close theirs after some seconds."""
RETRY_AFTER_MAX_S = 86_400.0
RETRY_AFTER_CHARS_MAX = 64
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:+-]+)", re.ASCII | re.IGNORECASE)
# The server names the encoding of its response; only codecs of linear time without surprises count.
ENCODINGS = {
    "ascii": "ascii",
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "latin-1": "latin-1",
    "latin1": "latin-1",
    "us-ascii": "ascii",
}
# Trouble of the far side or of the way to it, which may be over soon.
PASSING = frozenset({"connect_failed", "timeout", "connection_lost", "token_unavailable"})
ASK_S = 60.0
CONNECT_S = 10.0
OK, MULTIPLE_CHOICES = 200, 300
DEFAULT_HEADERS = {"Accept": "application/json, */*;q=0.1", "User-Agent": "penstock"}


class SendFailed(Exception):
    """There is no response; `maybe_sent` unless certainly nothing was sent.

    Codes: egress_refused, bad_url, bad_request, connect_failed, timeout, connection_lost,
    too_large, circuit_open, token_refused, token_unavailable.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        maybe_sent: bool = False,
        status_code: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.maybe_sent = maybe_sent
        self.status_code = status_code
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The body is JSON if it is JSON, else text; None when it is empty. `size` is its bytes.

    `signal` is what the connector's rule read in it.
    """

    status: int
    body: Any
    latency_ms: int
    retry_after_s: float | None = None
    size: int = 0
    signal: Any = None


@dataclass(slots=True)
class SendState:
    """`sent` once the first byte may be on the wire; `on_sent` is called then."""

    on_sent: Callable[[], None]
    sent: bool = False
    status: int | None = None


class _Wire(NamedTuple):
    """A request as it goes out."""

    method: str
    url: URL
    body: bytes | None
    headers: CIMultiDict[str]


def ignore_sent() -> None:
    """For callers that need not know when a request is sent."""


class _Lost(aiohttp.ClientError):
    """The connection broke after it was made."""


class HttpConnector:
    """HTTP client of all connectors; no cookies, no proxies, no redirects, no automatic retries."""

    def __init__(
        self,
        guard: EgressGuard,
        *,
        body_bytes_max: int = BODY_BYTES_MAX,
        resolver: AbstractResolver | None = None,
        now: Callable[[], datetime] = utc_now,
        offload: Offload | None = None,
    ) -> None:
        """`body_bytes_max` limits a response after decompression; `offload` parses long ones."""
        self._guard = guard
        self._offload = offload
        self._body_bytes_max = body_bytes_max
        self._resolver = resolver
        self._now = now
        self._sessions: dict[float | None, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        self._sessions = {kept_s: self._opened(kept_s) for kept_s in (None, KEPT_S)}
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    def _opened(self, kept_s: float | None) -> aiohttp.ClientSession:
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_mark_sent)
        return aiohttp.ClientSession(
            connector=guarded_connector(self._guard, self._resolver, kept_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_once,),
            requote_redirect_url=False,
            trace_configs=[trace],
            trust_env=False,
        )

    async def send(
        self,
        request: CallRequest,
        *,
        secret: str | None,
        connector: Connector,
        headers: dict[str, str],
        timeout_s: float,
        on_sent: Callable[[], None] = ignore_sent,
        kept_s: float | None = None,
    ) -> HttpResponse:
        """Send once; calls `on_sent` before the first byte. SendFailed without a response.

        With `KEPT_S` a connection that was just used may serve again, for what may be repeated.
        """
        wire = await self._wire(request, connector, secret, headers)
        tls = None
        if connector.auth_type == "mtls" and secret is not None:
            with _refusals():
                tls = await asyncio.to_thread(client_context, secret)
        return await self._exchange(wire, timeout_s, on_sent, tls, kept_s)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        body: bytes | None,
        headers: dict[str, str],
        *,
        connector: Connector,
        secret: str | None,
        on_sent: Callable[[], None] = ignore_sent,
        kept_s: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send bytes once to a server, and let the answer be read as it comes, however long.

        With `KEPT_S` a connection whose answer was read to its end may serve again.
        SendFailed where there is no answer; who reads it bounds how much and how long.
        """
        with _refusals():
            url = self._guard.check_url(connector.base_url)
            sent = CIMultiDict({"User-Agent": DEFAULT_HEADERS["User-Agent"], **headers})
            sent.update(credentials(connector, secret))
        state = SendState(on_sent)
        try:
            response = await self._sessions[kept_s].request(
                method,
                url,
                data=body,
                headers=sent,
                ssl=True,
                skip_auto_headers=("Content-Type",),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                trace_request_ctx=state,
            )
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise _failure(error, url, state) from None
        try:
            yield response
        finally:
            response.close()

    async def post_form(
        self, url: str, form: dict[str, str], headers: dict[str, str], timeout_s: float
    ) -> HttpResponse:
        """Send a form once; SendFailed without a response."""
        sent = {**DEFAULT_HEADERS, **headers, "Content-Type": "application/x-www-form-urlencoded"}
        with _refusals():
            target = self._guard.check_url(url)
        return await self._exchange(_Wire("POST", target, urlencode(form).encode(), CIMultiDict(sent)), timeout_s)

    async def ask(self, url: str, token: str | None, body: dict[str, Any]) -> Any:
        """What an endpoint of the operator's answers to a body; None if it does not."""
        try:
            answer = await self._post(url, token, body)
        except SendFailed as none:
            _log.warning("not_answered", reason=none.code)
            return None
        return answer.body if answer.status == OK else None

    async def offer(self, url: str, body: dict[str, Any]) -> str | None:
        """Why an endpoint of the operator's did not take a body; None if it did."""
        try:
            answer = await self._post(url, None, body)
        except SendFailed as failed:
            return failed.detail
        return None if OK <= answer.status < MULTIPLE_CHOICES else f"{url} answers {answer.status}"

    async def _post(self, url: str, token: str | None, body: dict[str, Any]) -> HttpResponse:
        request = CallRequest(tool="", mode="live", method="POST", url=url, body=body)
        connector = Connector("", 0, url, "POST", "", auth_type="none" if token is None else "bearer")
        return await self.send(request, secret=token, connector=connector, headers={}, timeout_s=ASK_S)

    async def _exchange(
        self,
        wire: _Wire,
        timeout_s: float,
        on_sent: Callable[[], None] = ignore_sent,
        tls: ssl.SSLContext | None = None,
        kept_s: float | None = None,
    ) -> HttpResponse:
        if not self._sessions:
            raise RuntimeError("The connector is used outside its context.")
        state, begun = SendState(on_sent), time.monotonic()
        try:
            async with self._sessions[kept_s].request(
                wire.method,
                wire.url,
                data=wire.body,
                headers=wire.headers,
                ssl=True if tls is None else tls,
                skip_auto_headers=("Content-Type",),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                trace_request_ctx=state,
            ) as response:
                reach("after-send")
                state.status = response.status
                raw = await self._read(response)
                latency_ms = round((time.monotonic() - begun) * 1000)
                pause_s = retry_after_s(response.headers.get("Retry-After"), self._now())
                answer = await self._beside(len(raw), partial(_body, raw, response.headers.get("Content-Type", "")))
                return HttpResponse(response.status, answer, latency_ms, pause_s, len(raw))
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise _failure(error, wire.url, state) from None

    async def _wire(
        self, request: CallRequest, connector: Connector, secret: str | None, headers: dict[str, str]
    ) -> _Wire:
        wire = CIMultiDict(DEFAULT_HEADERS)
        with _refusals():
            url = self._guard.check_url(request.url or "")
            body = None
            if request.body is not None and request.method not in BODILESS:
                body = await self.serialize(request.body)
                wire["Content-Type"] = "application/json"
            wire.update(connector.headers or {})
            wire.update(headers)
            wire.update(credentials(connector, secret))
        return _Wire(request.method or "GET", url, body, wire)

    async def serialize(self, body: dict[str, Any]) -> bytes:
        """A body as it is sent: canonical JSON; ValueError for what JSON cannot say."""
        return await self._beside(json_size(body), lambda: canonical(body).encode())

    async def _beside(self, size: int, work: Callable[[], T]) -> T:
        if self._offload is None:
            return work()
        return await self._offload.run_by_size(str(LOG_CONTEXT.get().get("company_id", "")), size, work)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        raw, pieces = bytearray(), 0
        async for piece, ends in response.content.iter_chunks():
            raw += piece
            pieces += ends
            if pieces > PIECES_FREE + len(raw) // PIECE_BYTES_MIN:
                detail = "The answer comes in too many small pieces."
            elif len(raw) > self._body_bytes_max:
                detail = f"The answer is larger than {self._body_bytes_max} bytes."
            else:
                continue
            response.close()
            raise SendFailed("too_large", detail, maybe_sent=True, status_code=response.status)
        return bytes(raw)


@contextmanager
def _refusals() -> Iterator[None]:
    """What cannot be sent at all, as SendFailed."""
    try:
        yield
    except BadUrl as error:
        raise SendFailed("bad_url", str(error)) from None
    except EgressRefused as error:
        raise SendFailed("egress_refused", str(error)) from None
    except ValueError:
        raise SendFailed("bad_request", "The body or the secret cannot be sent as it stands.") from None


async def _mark_sent(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
    """Called by aiohttp right before the first byte is written."""
    state: SendState = context.trace_request_ctx
    state.sent = True
    state.on_sent()
    reach("request-leaving")


async def _once(request: aiohttp.ClientRequest, handler: ClientHandlerType) -> aiohttp.ClientResponse:
    """Stop aiohttp from repeating GET, PUT and DELETE when the connection breaks."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
        raise _Lost from None


def _failure(error: Exception, url: URL, state: SendState) -> SendFailed:
    """The error in our words: messages of libraries may contain addresses and headers."""
    host = f"{url.host_subcomponent}:{url.port}"
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, EgressRefused):
        return SendFailed("egress_refused", str(cause))
    if isinstance(error, asyncio.TimeoutError):
        where = "before the answer was complete" if state.sent else "before the connection was made"
        detail = f"The time for {host} ran out {where}."
        return SendFailed("timeout", detail, maybe_sent=state.sent, status_code=state.status)
    if state.sent:
        detail = f"The connection to {host} broke before the answer was complete."
        return SendFailed("connection_lost", detail, maybe_sent=True, status_code=state.status)
    if isinstance(error, aiohttp.InvalidURL):
        return SendFailed("bad_url", "The URL cannot be called.")
    return SendFailed("connect_failed", _no_connection(error, cause, host))


def _no_connection(error: Exception, cause: Exception, host: str) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"The certificate of {host} is not trusted."
    if isinstance(error, aiohttp.ClientSSLError):
        return f"No TLS connection to {host} could be made."
    refused = isinstance(cause, ConnectionRefusedError)
    return f"{host} refused the connection." if refused else f"No connection to {host} could be made."


def _body(raw: bytes, content_type: str) -> Any:
    """JSON when the content type says so, or when it begins like an object or a list; else text."""
    if not raw:
        return None
    if content_type.partition(";")[0].strip().lower().endswith(("/json", "+json")) or raw.lstrip()[:1] in (b"{", b"["):
        with suppress(json_codec.NotJson):
            return json_codec.loads(raw)
    named = _CHARSET.search(content_type)
    encoding = ENCODINGS.get("" if named is None else named[1].lower().replace("_", "-"), "utf-8")
    return raw.decode(encoding, errors="replace").replace("\0", "\ufffd")


def retry_after_s(text: str | None, now: datetime) -> float | None:
    """The seconds of a Retry-After header, given in seconds or as a date; at most a day."""
    if text is None or len(text) > RETRY_AFTER_CHARS_MAX:
        return None
    if text.strip().isdecimal() and text.isascii():
        return min(float(text), RETRY_AFTER_MAX_S)
    try:
        at = parsedate_to_datetime(text)
        pause_s = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    except Exception:  # noqa: BLE001 - what the parser raises for odd text differs between versions
        return None
    return min(max(0.0, pause_s), RETRY_AFTER_MAX_S)


PARENT = "traceparent"
_REFUSED = 400


@asynccontextmanager
async def open_client(
    guard: EgressGuard, body_bytes_max: int, tracer: Tracer | None, offload: Offload
) -> AsyncIterator[HttpConnector]:
    """The client of all calls, with a resolver of its own."""
    resolver = DnsResolver()
    try:
        if tracer is None:
            client = HttpConnector(guard, body_bytes_max=body_bytes_max, resolver=resolver, offload=offload)
        else:
            client = TracedConnector(tracer, guard, body_bytes_max=body_bytes_max, resolver=resolver, offload=offload)
        async with client:
            yield client
    finally:
        await resolver.close()


class TracedConnector(HttpConnector):
    """Client with a span per attempt; the span has the URL's host only: the rest may be secret."""

    def __init__(self, tracer: Tracer, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._tracer = tracer

    async def send(self, request: CallRequest, *, headers: dict[str, str], **how: Any) -> HttpResponse:
        with self._tracer.span(f"call {request.method}", "client", TRACE.get()) as span:
            span.set_attribute("http.request.method", request.method or "GET")
            span.set_attribute("server.address", _host(request.url or ""))
            span.set_attribute("penstock.tool", request.tool)
            own = {PARENT: TRACE.get() or ""} if PARENT in headers else {}
            try:
                answer = await super().send(request, headers={**headers, **own}, **how)
            except SendFailed as none:
                span.set_error(none.code)
                raise
            span.set_attribute("http.response.status_code", answer.status)
            if answer.status >= _REFUSED:
                span.set_error(str(answer.status))
            return answer


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""

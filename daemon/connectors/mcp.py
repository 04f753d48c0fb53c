"""The way to an MCP server: streams as they come, and the one call of an action."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import aiohttp

from actors.core.calls import Connector
from actors.core.messages import CallEffect
from daemon.connectors.credentials import StreamMasker
from daemon.connectors.http import KEPT_S, HttpConnector, HttpResponse, SendFailed, ignore_sent
from daemon.connectors.sending import headers_of
from daemon.runtime.json_codec import NotJson, dumps, loads

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
"""What the service itself speaks where no agent is there: the newest of each kind that it knows."""
SESSION, VERSION, METHOD, NAME = "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
BOTH = "application/json, text/event-stream"
EVENTS = "text/event-stream"
META = "io.modelcontextprotocol/"
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
HEAD_S = 60.0
NOT_DONE = frozenset({-32700, -32600, -32601, -32602, -32020, -32021, -32022})
"""Errors of a server that has not begun."""
FRAMES_MAX = 1_000
SAID_CHARS_MAX = 1_000
"""So much of the words of an error is kept."""
OWN_ID = 1
CLIENT = {"name": "penstock", "version": "1"}


class Message(NamedTuple):
    """A message for a server as it goes out; `body` is None for streams and ends of sessions."""

    method: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(eq=False)
class LiveCall:
    """The agent who is there for the call of an action; what comes before its result is `frames`.

    The call is made in the agent's own session, and `final` is the message that ended it.
    """

    request: dict[str, Any]
    raw: bytes
    headers: dict[str, str]
    frames: asyncio.Queue[Any] = field(default_factory=lambda: asyncio.Queue(FRAMES_MAX))
    taken: bool = False
    final: bytes | None = None

    def push(self, frame: bytes | None) -> None:
        """Hand on what came before the result; what nobody reads is dropped."""
        if not self.frames.full():
            self.frames.put_nowait(frame)


class LiveCalls:
    """The agents who wait for their actions here, by run."""

    def __init__(self) -> None:
        self._by_run: dict[tuple[str, str], LiveCall] = {}

    def add(self, key: tuple[str, str], one: LiveCall) -> None:
        """Let the call of a run be made for who is there now, if it has not begun."""
        held = self._by_run.get(key)
        if held is None or not held.taken:
            self._by_run[key] = one

    def remove(self, key: tuple[str, str], one: LiveCall) -> None:
        """Forget somebody who has gone."""
        if self._by_run.get(key) is one:
            del self._by_run[key]

    def take(self, call: CallEffect) -> LiveCall | None:
        """Who is there for a call that is about to be made."""
        found = self._by_run.get((call.company_id, call.run_id))
        if found is not None:
            found.taken = True
        return found


class McpCaller:
    """Makes the call of an action: once, in the agent's session, or in one of its own."""

    def __init__(self, http: HttpConnector, live: LiveCalls, body_bytes_max: int) -> None:
        self._http, self._live, self._body_bytes_max = http, live, body_bytes_max

    async def send(
        self,
        call: CallEffect,
        *,
        connector: Connector,
        secret: str | None,
        timeout_s: float,
        on_sent: Callable[[], None] = ignore_sent,
    ) -> HttpResponse:
        """What the server answers; SendFailed where nobody knows whether the tool was called."""
        live = self._live.take(call)
        upstream = Upstream(self._http, connector, secret)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._sent(call, upstream, live, on_sent)
        except TimeoutError:
            raise SendFailed("timeout", "The server did not answer in time.", maybe_sent=True) from None

    async def _sent(
        self, call: CallEffect, upstream: Upstream, live: LiveCall | None, on_sent: Callable[[], None]
    ) -> HttpResponse:
        params = call.request.body or {}
        if live is not None:
            message = _live_message(live, params)
            return await self._asked(call, upstream, message, on_sent, live)
        async with upstream.session() as headers:
            body: dict[str, Any] = {"jsonrpc": "2.0", "id": OWN_ID, "method": "tools/call", "params": params}
            if headers.get(VERSION) == MODERN:
                body["params"] = {**params, "_meta": _meta()}
                headers.update({METHOD: "tools/call", NAME: str(params.get("name"))})
            return await self._asked(call, upstream, Message("POST", headers, dumps(body)), on_sent)

    async def _asked(
        self,
        call: CallEffect,
        upstream: Upstream,
        message: Message,
        on_sent: Callable[[], None],
        live: LiveCall | None = None,
    ) -> HttpResponse:
        """Send the call once, and read to its end.

        What only reads takes a connection that was just used; where that has ended meanwhile, it
        takes another.
        """
        message = message._replace(headers={**headers_of(call), **message.headers})
        answered = partial(self._answered, upstream, message, live)
        if not call.repeatable:
            return await answered(on_sent, None)
        try:
            return await answered(on_sent, KEPT_S)
        except SendFailed as failed:
            if failed.code != "connection_lost" or failed.status_code is not None:
                raise
            return await answered(on_sent, None)

    async def _answered(
        self,
        upstream: Upstream,
        message: Message,
        live: LiveCall | None,
        on_sent: Callable[[], None],
        kept_s: float | None,
    ) -> HttpResponse:
        request_id = OWN_ID if live is None else live.request["id"]
        async with upstream.open(message, on_sent, kept_s) as answer:
            raw, final = await _final(answer, upstream, request_id, live)
            if final is None:
                if answer.status >= 400:  # noqa: PLR2004 - refused before anything was done
                    return HttpResponse(answer.status, _text(raw), 0, size=len(raw))
                raise SendFailed(
                    "connection_lost",
                    "The server ended its answer without a result.",
                    maybe_sent=True,
                    status_code=answer.status,
                )
            if live is not None:
                live.final = raw
            if "error" in final:
                return _failed(answer.status, final["error"], len(raw))
            result = final["result"]
            if len(raw) > self._body_bytes_max:
                result = {"sha256": hashlib.sha256(raw).hexdigest(), "size": len(raw)}
            return HttpResponse(200, result, 0, size=len(raw))


def _failed(status: int, error: Any, size: int) -> HttpResponse:
    code = error.get("code") if isinstance(error, dict) else None
    if code in NOT_DONE:
        return HttpResponse(max(status, 400), error, 0, size=size)
    said = str(error.get("message")) if isinstance(error, dict) else "none that can be read"
    detail = f"The server answered with the error {code}: {said[:SAID_CHARS_MAX]}".replace("\0", "\ufffd")
    raise SendFailed("call_failed", detail, maybe_sent=True, status_code=status)


def _live_message(live: LiveCall, params: Mapping[str, Any]) -> Message:
    """The agent's own message, with the arguments that were approved."""
    asked = live.request["params"]
    if asked.get("arguments", {}) == params["arguments"]:
        return Message("POST", live.headers, live.raw)
    body = {**live.request, "params": {**asked, "arguments": params["arguments"]}}
    return Message("POST", live.headers, dumps(body))


class Upstream:
    """A server with the secret that it is called with, which is left in nothing that it answers."""

    def __init__(self, http: HttpConnector, connector: Connector, secret: str | None) -> None:
        self._http, self._connector, self._secret = http, connector, secret

    def masker(self) -> StreamMasker:
        """What takes the secret out of an answer as it comes."""
        return StreamMasker(self._connector, self._secret)

    @asynccontextmanager
    async def open(
        self, message: Message, on_sent: Callable[[], None] = ignore_sent, kept_s: float | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a message, and read what comes; SendFailed where there is no answer."""
        async with self._http.stream(
            message.method,
            message.body,
            dict(message.headers),
            connector=self._connector,
            secret=self._secret,
            on_sent=on_sent,
            kept_s=kept_s,
        ) as answer:
            yield answer

    async def ask(
        self, headers: Mapping[str, str], body: dict[str, Any]
    ) -> tuple[dict[str, Any] | None, Mapping[str, str]]:
        """The final message that answers a request, None without one; and the answer's headers."""
        async with asyncio.timeout(HEAD_S), self.open(Message("POST", headers, dumps(body))) as answer:
            _, final = await _final(answer, self, body["id"], None)
            return final, answer.headers

    @asynccontextmanager
    async def session(self) -> AsyncIterator[dict[str, str]]:
        """The headers of a session of its own; of none where the server has no sessions."""
        begin = {"Content-Type": "application/json", "Accept": BOTH}
        params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT}
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        try:
            final, said = await self.ask({**begin, VERSION: HANDSHAKE}, body)
        except TimeoutError:
            raise SendFailed("timeout", "The server did not begin a session in time.") from None
        except SendFailed as failed:
            raise SendFailed(failed.code, failed.detail) from None
        if final is None or "result" not in final:
            yield {**begin, VERSION: MODERN}
            return
        version = final["result"].get("protocolVersion")
        headers = {**begin, VERSION: version if isinstance(version, str) else HANDSHAKE}
        if (session := said.get(SESSION)) is not None:
            headers[SESSION] = session
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        try:
            async with self.open(Message("POST", headers, dumps(note))):
                pass
        except SendFailed as failed:
            raise SendFailed(failed.code, failed.detail) from None
        yield headers


async def _final(
    answer: aiohttp.ClientResponse, upstream: Upstream, request_id: Any, live: LiveCall | None
) -> tuple[bytes, dict[str, Any] | None]:
    """The message that answers a request, as bytes and read; what comes before is handed on."""
    masker = upstream.masker()
    if answer.content_type != EVENTS:
        raw = masker.feed(await _body(answer)) + masker.flush()
        return raw, _answering(raw, request_id)
    reader = EventReader()
    async for chunk in chunks(answer):
        for event in reader.feed(masker.feed(chunk)):
            data = data_of(event)
            found = _answering(data, request_id) if data else None
            if found is not None:
                return data, found
            if live is not None and data:
                live.push(event)
    return b"", None


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for chunk in chunks(answer):
        raw += chunk
        if len(raw) > MESSAGE_BYTES_MAX:
            raise _too_large(answer.status)
    return bytes(raw)


async def chunks(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """What comes of an answer; SendFailed where it breaks."""
    try:
        async for chunk in answer.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, OSError):
        detail = "The connection broke before the answer was complete."
        raise SendFailed("connection_lost", detail, maybe_sent=True, status_code=answer.status) from None


def _too_large(status: int | None = None) -> SendFailed:
    return SendFailed(
        "too_large", f"A message is larger than {MESSAGE_BYTES_MAX} bytes.", maybe_sent=True, status_code=status
    )


def _answering(raw: bytes, request_id: Any) -> dict[str, Any] | None:
    """The message if it is the answer to that request."""
    try:
        found = loads(raw)
    except NotJson:
        return None
    if not isinstance(found, dict) or not ("result" in found or "error" in found):
        return None
    given = found.get("id")
    same = type(given) is type(request_id) and given == request_id
    return found if same or ("error" in found and given is None) else None


def _text(raw: bytes) -> str:
    return raw[:4_096].decode(errors="replace").replace("\0", "\ufffd")


def _meta() -> dict[str, Any]:
    return {f"{META}protocolVersion": MODERN, f"{META}clientInfo": CLIENT, f"{META}clientCapabilities": {}}


class EventReader:
    """Cuts a stream of server-sent events into events, each with the empty line that ends it."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that are complete by now."""
        held = self._rest + chunk
        events = []
        while (end := _end_of_event(held)) is not None:
            events.append(held[:end])
            held = held[end:]
        if len(held) > MESSAGE_BYTES_MAX:
            raise _too_large()
        self._rest = held
        return events


def _end_of_event(held: bytes) -> int | None:
    found = [at + len(mark) for mark in (b"\n\n", b"\r\n\r\n", b"\r\r") if (at := held.find(mark)) >= 0]
    return min(found, default=None)


def data_of(event: bytes) -> bytes:
    """The data of an event; empty for comments and events of other names than `message`."""
    lines = event.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))


def event_of(message: bytes) -> bytes:
    """A message as an event of a stream."""
    return b"event: message\ndata: %s\n\n" % message.replace(b"\n", b"\ndata: ")

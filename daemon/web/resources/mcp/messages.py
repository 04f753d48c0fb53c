"""Messages between agents and MCP servers: checked, sent on, and answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiohttp import web

from daemon.connectors.http import SendFailed
from daemon.connectors.mcp import (
    METHOD,
    NAME,
    SESSION,
    VERSION,
)
from daemon.model.actions import StoredMcpServer
from daemon.runtime.json_codec import NotJson, dumps, loads
from daemon.web.middleware.auth import company_of, principal_of
from daemon.web.middleware.in_flight import ANSWERS
from daemon.web.middleware.occupancy import Use, used_for
from daemon.web.resources.actions.actions import agent_id
from daemon.web.services import SERVICES
from daemon.web.sse import STREAMS

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
OLDEST = "2025-06-18"
UP = ("Accept", "Content-Type", "Last-Event-ID", VERSION, METHOD, NAME)
"""The headers that go up to a server, beside the session and what mirrors arguments."""
PARAM = "mcp-param-"
RESULT_TYPE = "resultType"
"""What a result of the newest revisions has, and an earlier one has not."""


class RpcRefused(Exception):
    """A message that is answered with an error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: Any = None, *, status: int = 400, request_id: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.status, self.request_id = code, message, data, status, request_id

    def response(self) -> web.Response:
        error = {"code": self.code, "message": self.message, **({} if self.data is None else {"data": self.data})}
        return rpc_response({"jsonrpc": "2.0", "id": self.request_id, "error": error}, self.status)


class Asked(NamedTuple):
    """A message of an agent to a server, and the headers with which it goes up."""

    request: web.Request
    server: StoredMcpServer
    agent_id: str
    raw: bytes
    body: dict[str, Any]
    headers: dict[str, str]
    modern: bool


def tool_result(asked: Asked, text: str, *, error: bool = False) -> dict[str, Any]:
    """What this service itself says in place of a tool."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": error}
    if asked.modern:
        result[RESULT_TYPE] = "complete"
    return {"jsonrpc": "2.0", "id": asked.body["id"], "result": result}


def tool_error(asked: Asked, text: str) -> dict[str, Any]:
    """Why a tool was not called, or has no result."""
    return tool_result(asked, text, error=True)


def rpc_response(message: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.Response(status=status, body=dumps(message), content_type="application/json")


def read_message(raw: bytes) -> dict[str, Any]:
    """The one message of a body, of which no two readers may think otherwise."""
    try:
        found = loads(raw)
    except NotJson as wrong:
        raise RpcRefused(PARSE_ERROR, str(wrong)) from None
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise RpcRefused(INVALID_REQUEST, "The body has to be one message of JSON-RPC 2.0.")
    return found


def checked(request: web.Request, server: StoredMcpServer, raw: bytes, body: dict[str, Any]) -> Asked:
    """The message as it goes up; RpcRefused where its headers are not what it says."""
    from mcp.shared.inbound import (  # noqa: PLC0415 - an extra that may be missing
        InboundLadderRejection,
        classify_inbound_request,
        decode_header_value,
        find_duplicated_routing_header,
    )
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415

    request_id = body.get("id")
    if (twice := find_duplicated_routing_header(request.headers.items())) is not None:
        raise RpcRefused(HEADER_MISMATCH, f"The header {twice} stands twice.", request_id=request_id)
    version, method, params = request.headers.get(VERSION), body.get("method"), body.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    told = isinstance(meta, dict) and "io.modelcontextprotocol/protocolVersion" in meta
    modern = version in MODERN_PROTOCOL_VERSIONS or told
    lower = {name.lower(): value for name, value in request.headers.items()}
    if modern and method is not None and "id" in body:
        found = classify_inbound_request(body, headers=lower)
        if isinstance(found, InboundLadderRejection):
            raise RpcRefused(found.code, found.message, found.data, request_id=request_id)
    elif not modern:
        handshakes = HANDSHAKE_PROTOCOL_VERSIONS[HANDSHAKE_PROTOCOL_VERSIONS.index(OLDEST) :]
        named = params.get("protocolVersion") if method == "initialize" else version
        if named not in handshakes and (method != "initialize" or named in HANDSHAKE_PROTOCOL_VERSIONS):
            supported = [*handshakes, *MODERN_PROTOCOL_VERSIONS]
            data = {"supported": supported, "requested": named}
            raise RpcRefused(UNSUPPORTED_VERSION, "Unsupported protocol version", data, request_id=request_id)
    for header, said in ((METHOD, method), (NAME, params.get("name", params.get("uri")))):
        given = request.headers.get(header)
        if given is not None and (given if header == METHOD else decode_header_value(given)) != said:
            message = f"{header} is not what the body says."
            raise RpcRefused(HEADER_MISMATCH, message, request_id=request_id)
    headers = headers_up(request, server, request_id)
    return Asked(request, server, agent_id(principal_of(request)), raw, body, headers, modern)


def headers_up(request: web.Request, server: StoredMcpServer, request_id: Any = None) -> dict[str, str]:
    """What goes up of an agent's headers; 404 for the session of somebody else."""
    found = {name: request.headers[name] for name in UP if name in request.headers}
    found |= {name: value for name, value in request.headers.items() if name.lower().startswith(PARAM)}
    session = request.headers.get(SESSION)
    if session is not None:
        own = request.app[SERVICES].dispatcher.callbacks.unbound(session, *owner(request, server))
        if own is None:
            raise RpcRefused(INVALID_REQUEST, "There is no such session.", status=404, request_id=request_id)
        found[SESSION] = own
    return found


def owner(request: web.Request, server: StoredMcpServer) -> tuple[str, ...]:
    principal = principal_of(request)
    return "mcp", principal.company_id, agent_id(principal), server.name


def unreachable(failed: SendFailed, request_id: Any) -> RpcRefused:
    """What an agent is told where a server gives no answer."""
    return RpcRefused(-32603, f"{failed.code}: {failed.detail}", status=502, request_id=request_id)


Write = Callable[[bytes], Any]


async def written(request: web.Request, response: web.StreamResponse, part: bytes) -> None:
    """Write a part of an answer, and count it while it is written."""
    if part:
        with request.app[ANSWERS].count_while_written(company_of(request), len(part)):
            await response.write(part)


@asynccontextmanager
async def streamed(
    request: web.Request, response: web.StreamResponse
) -> AsyncIterator[tuple[web.StreamResponse, Write]]:
    """An answer that is written bit by bit, and counts among the streams of its company."""

    async def write(part: bytes) -> None:
        await written(request, response, part)

    response.headers.setdefault("X-Accel-Buffering", "no")
    with request.app[STREAMS].one(company_of(request)), used_for(request, Use.STREAM):
        await response.prepare(request)
        yield response, write

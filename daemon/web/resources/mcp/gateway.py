"""The addresses at which agents reach their MCP servers."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

import aiohttp
from aiohttp import web

from actors.core.people import ACTIONS
from daemon.connectors.http import SendFailed
from daemon.connectors.mcp import EVENTS, MESSAGE_BYTES_MAX, SESSION, VERSION, Message, Upstream, chunks
from daemon.model.actions import StoredMcpServer
from daemon.web.incoming import beside_loop, read_bytes
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import check, principal_of
from daemon.web.problems import HttpProblem, existing
from daemon.web.resources.actions.actions import agent_id
from daemon.web.resources.mcp.calls import CALL, CANCELLED, call_tool, cancelled
from daemon.web.resources.mcp.messages import (
    Asked,
    RpcRefused,
    checked,
    headers_up,
    owner,
    read_message,
    streamed,
    unreachable,
)
from daemon.web.services import SERVICES
from daemon.web.sse import while_it_counts

MISSING = "The Model Context Protocol is not installed: it comes with the extra penstockd[mcp]."
INBOUND = "mcp.shared.inbound"
DOWN = ("Content-Type", "Cache-Control", VERSION)


async def post_to_server(request: web.Request) -> web.StreamResponse:
    """A message of an agent: a call of a tool becomes an action, all else passes through."""
    server = await _server(request)
    raw = await read_bytes(request)
    try:
        asked = checked(request, server, raw, await beside_loop(request, lambda: read_message(raw)))
        if asked.body.get("method") == CALL:
            return await call_tool(asked)
        if asked.body.get("method") == CANCELLED and cancelled(asked):
            return web.Response(status=202)
    except RpcRefused as refused:
        return refused.response()
    return await passed(asked, Message("POST", asked.headers, raw))


async def follow_server(request: web.Request) -> web.StreamResponse:
    """The stream of what a server says by itself, or the end of a session."""
    server = await _server(request)
    try:
        asked = Asked(
            request, server, agent_id(principal_of(request)), b"", {}, headers_up(request, server), modern=False
        )
    except RpcRefused as refused:
        return refused.response()
    return await passed(asked, Message(request.method, asked.headers))


async def _server(request: web.Request) -> StoredMcpServer:
    """The server of the path, for who may ask for actions; 501 without the protocol's package."""
    principal = principal_of(request)
    check(principal, ACTIONS["act"])
    servers = request.app[SERVICES].connector_service.servers
    found = existing(await servers.one(principal.company_id, request.match_info["server"]))
    try:
        if INBOUND not in sys.modules:  # it takes a second, in which others have to be answered
            with slot_released():
                await asyncio.to_thread(import_module, INBOUND)
        import mcp.shared.inbound  # noqa: F401, PLC0415 - an extra that may be missing
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise HttpProblem("mcp_not_installed", MISSING) from None
    return found


async def passed(asked: Asked, message: Message) -> web.StreamResponse:
    """What the server answers to a message, as it comes."""
    request, company_id = asked.request, asked.server.company_id
    try:
        upstream = await request.app[SERVICES].dispatcher.upstream(company_id, asked.server.name)
        with slot_released():
            async with while_it_counts(request), upstream.open(message) as answer:
                return await _down(asked, upstream, answer)
    except SendFailed as failed:
        return unreachable(failed, asked.body.get("id")).response()


async def _down(asked: Asked, upstream: Upstream, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    request, masker = asked.request, upstream.masker()
    headers = {name: answer.headers[name] for name in DOWN if name in answer.headers}
    if (session := answer.headers.get(SESSION)) is not None:
        bound = request.app[SERVICES].dispatcher.callbacks.bound(session, *owner(request, asked.server))
        headers[SESSION] = bound
    if answer.content_type != EVENTS:
        raw = bytearray()
        async for chunk in chunks(answer):
            raw += masker.feed(chunk)
            if len(raw) > MESSAGE_BYTES_MAX:
                raise SendFailed("too_large", f"The answer is larger than {MESSAGE_BYTES_MAX} bytes.")
        return web.Response(status=answer.status, body=bytes(raw) + masker.flush(), headers=headers)
    async with streamed(request, web.StreamResponse(status=answer.status, headers=headers)) as (response, write):
        try:
            async for chunk in chunks(answer):
                await write(masker.feed(chunk))
            await write(masker.flush())
        except (SendFailed, ConnectionResetError):
            pass
    return response

"""Servers of the Model Context Protocol that agents reach through this service."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.connectors.servers import By, ServerForm
from daemon.contract import actions as contract
from daemon.contract.connectors import masked_query
from daemon.model.actions import McpServerChange, StoredMcpServer
from daemon.model.budgets import BudgetExceeded
from daemon.web.bodies import page_limit, read
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import PAGED, Operation
from daemon.web.parameters import SERVER
from daemon.web.problems import existing, invalid, not_found
from daemon.web.resources.pages import page_response
from daemon.web.responses import from_cursor, from_number, json_response
from daemon.web.services import SERVICES


@Operation("List MCP servers", "read", list[contract.McpServer], query=PAGED)
async def list_mcp_servers(request: web.Request) -> web.Response:
    """The servers that agents reach through this service, by name."""
    limit, after = page_limit(request), from_cursor(request, "mcp-servers") or ""
    stored = await request.app[SERVICES].connector_service.servers.all(principal_of(request).company_id)
    found = [name for name in stored if name > after]
    return await page_response(
        request, found, limit, "mcp-servers", name=str, show=lambda name: server_json(stored[name])
    )


@Operation("Get an MCP server", "read", contract.McpServer)
async def get_mcp_server(request: web.Request) -> web.Response:
    """A server, without its secret."""
    servers = request.app[SERVICES].connector_service.servers
    one = await servers.one(principal_of(request).company_id, request.match_info["server"])
    return json_response(server_json(existing(one)))


@Operation(
    "Store an MCP server", "go_live", contract.McpServer, request=contract.McpServerForm, also=(201,), problems=(507,)
)
async def put_mcp_server(request: web.Request) -> web.Response:
    """Lets agents reach a server at `/mcp/{name}`; 201 when there was none of that name.

    Without `auth_token` the stored secret is kept while scheme, host and port stay the same. One
    that is not changed keeps its version. What was approved under an earlier version is asked anew.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    servers, name = services.connector_service.servers, request.match_info["server"]
    if not SERVER.fullmatch(name):
        raise invalid(("/server", "has 1 to 64 letters, digits, dots, underscores and dashes"))
    body = await read(request, contract.McpServerForm)
    if (mistake := services.url_policy.mistake(body.url)) is not None:
        raise invalid(("/url", mistake))
    if body.auth_token is not None and body.auth_type == "none":
        raise invalid(("/auth_token", "is sent only with an auth_type: bearer or basic"))
    known = await servers.all(principal.company_id)
    earlier = known.get(name)
    if body.auth_type != "none" and body.auth_token is None and (earlier is None or not earlier.sealed_secret):
        raise invalid(("/auth_token", f"is required by auth_type {body.auth_type}, and none is stored"))
    most = services.settings.company_connectors_max
    if earlier is None and len(known) >= most:
        raise BudgetExceeded("company_connectors", most, f"A company has at most {most} MCP servers.")
    await services.stored.store_more(principal.company_id)
    tools = {tool: one.model_dump(exclude_none=True) for tool, one in sorted(body.tools.items())}
    form = ServerForm(body.url, body.auth_type, body.reversible, body.trust_annotations, body.wait_s, tools)
    by = By(principal.email, principal.via, principal.kind, principal.caller)
    stored, before = await servers.put(principal.company_id, name, form, body.auth_token, by)
    return json_response(server_json(stored), 201 if before is None else 200)


@Operation("Delete an MCP server", "disconnect", status=204)
async def delete_mcp_server(request: web.Request) -> web.Response:
    """No agent reaches the server from then on; what waits for people is recorded and not sent."""
    servers, principal = request.app[SERVICES].connector_service.servers, principal_of(request)
    by = By(principal.email, principal.via, principal.kind, principal.caller)
    if not await servers.delete(principal.company_id, request.match_info["server"], by):
        raise not_found()
    return web.Response(status=204)


@Operation("List the changes of an MCP server", "read", list[contract.McpServerChange], query=PAGED)
async def list_mcp_server_changes(request: web.Request) -> web.Response:
    """Who changed a server, when, from what and to what, newest first."""
    limit, before = page_limit(request), from_number(request, "changes")
    servers, company_id = request.app[SERVICES].connector_service.servers, principal_of(request).company_id
    found = existing(await servers.changes(company_id, request.match_info["server"], before, limit + 1))
    return await page_response(request, found, limit, "changes", name=lambda last: last.number, show=_change_json)


def server_json(one: StoredMcpServer) -> dict[str, Any]:
    return contract.McpServer.view(
        one,
        url=masked_query(one.url),
        tools=_tools(one.tools),
        auth_token_set=one.sealed_secret is not None,
        updated_at=one.changed_at,
        updated_by=one.changed_by,
    )


def _change_json(change: McpServerChange) -> dict[str, Any]:
    states = (change.before, change.after)
    before, after = (None if one is None else _state(one) for one in states)
    return contract.McpServerChange.view(change, before=before, after=after)


def _state(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "url": masked_query(one["url"]), "tools": _tools(one["tools"])}


def _tools(tools: dict[str, Any]) -> dict[str, Any]:
    return {name: {"effect": one.get("effect"), "tier": one.get("tier")} for name, one in tools.items()}

"""Servers of the Model Context Protocol that agents reach through this service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from daemon.connectors.servers import ALL_TOOLS, By, ServerForm
from daemon.contract import actions as contract
from daemon.contract.company import GatedChange
from daemon.contract.connectors import masked_query
from daemon.identity.company.changes import ChangeForm
from daemon.model.actions import McpServerChange, StoredMcpServer
from daemon.model.budgets import BudgetExceeded
from daemon.model.people.changes import ChangeDecision
from daemon.web.bodies import page_limit, read
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import PAGED, Operation
from daemon.web.parameters import SERVER
from daemon.web.problems import existing, invalid, not_found
from daemon.web.resources.changes import ask_for
from daemon.web.resources.connectors import LiveGated, tell_live
from daemon.web.resources.pages import page_response
from daemon.web.responses import from_cursor, from_number, json_response
from daemon.web.services import SERVICES, Services


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
    "Store an MCP server",
    "go_live",
    contract.McpServer,
    request=contract.McpServerForm,
    also=(201,),
    problems=(507,),
    pending=GatedChange,
)
async def put_mcp_server(request: web.Request) -> web.Response:
    """Lets agents reach a server at `/mcp/{name}`; 201 when there was none of that name.

    Without `auth_token` the stored secret is kept while scheme, host and port stay the same. One
    that is not changed keeps its version. What was approved under an earlier version is asked anew.
    When a server goes live the other admins are told by mail. Where the company has `change_gates`,
    going live, a change of a live server, and believing more of one (`trust_annotations`, a tool
    that is said to do less or has a lower tier) wait for another person: 202.
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
    earlier = await servers.one(principal.company_id, name)
    if body.auth_type != "none" and body.auth_token is None and (earlier is None or not earlier.sealed_secret):
        raise invalid(("/auth_token", f"is required by auth_type {body.auth_type}, and none is stored"))
    await _check_budget(services, principal.company_id, name)
    tools = {tool: one.model_dump(exclude_none=True) for tool, one in sorted(body.tools.items())}
    form = ServerForm(body.url, body.auth_type, body.reversible, body.trust_annotations, body.wait_s, tools)
    by = By(principal.email, principal.via, principal.kind, principal.caller)
    gated = await services.identity.changes.gated(principal.company_id, "go_live")

    def check_looser() -> None:
        if gated:
            raise LiveGated

    try:
        stored, before = await servers.put(
            principal.company_id, name, form, body.auth_token, by, check_looser=check_looser
        )
    except LiveGated:
        stands_on, sealed = await servers.asked(principal.company_id, name, body.auth_token)
        asked = ChangeForm("go_live", name + ALL_TOOLS, {"server": form._asdict()}, stands_on, sealed)
        return (await ask_for(request, asked)).response()
    await _tell(request, stored, before, principal.email)
    return json_response(server_json(stored), 201 if before is None else 200)


async def approve_server(request: web.Request, decision: ChangeDecision, asked: Mapping[str, Any]) -> None:
    """Store the server that was asked for."""
    services, change = request.app[SERVICES], decision.change
    servers, name = services.connector_service.servers, change.what.removesuffix(ALL_TOOLS)
    caller = await services.identity.changes.asker(change)
    await _check_budget(services, change.company_id, name)
    secret = await servers.opened(change.company_id, name, change.sealed_secret)
    by = By(change.requested_by, change.via, change.by_kind, caller)
    form = ServerForm(**asked["server"])
    stored, before = await servers.put(change.company_id, name, form, secret, by, approved=decision)
    await _tell(request, stored, before, change.requested_by)


async def _check_budget(services: Services, company_id: str, name: str) -> None:
    known, most = await services.connector_service.servers.all(company_id), services.settings.company_connectors_max
    if name not in known and len(known) >= most:
        raise BudgetExceeded("company_connectors", most, f"A company has at most {most} MCP servers.")
    await services.stored.store_more(company_id)


async def _tell(request: web.Request, stored: StoredMcpServer, before: StoredMcpServer | None, by: str) -> None:
    """Mail the other admins that a server goes live."""
    if stored.reversible and (before is None or not before.reversible):
        await tell_live(request, stored.name + ALL_TOOLS, by)


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

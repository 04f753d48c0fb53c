"""What servers say of tools: headers that mirror arguments, and whether one only reads."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from aiohttp import web

from actors.core.actions.deciding import Call
from daemon.connectors.http import SendFailed
from daemon.connectors.mcp import METHOD, NAME
from daemon.web.resources.mcp.messages import PARAM, Asked, RpcRefused
from daemon.web.services import SERVICES

LIST = "tools/list"
LIST_ID = "penstock:tools"
FRESH_S = 60.0
SERVERS_MAX = 1_000
PAGES_MAX = 50


class ToolLists:
    """What servers said last of their tools, by company, server and version."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, int], tuple[float, dict[str, Any]]] = OrderedDict()

    async def tools(self, asked: Asked, *, anew: bool = False) -> dict[str, Any]:
        """The tools of a server by name, asked for in the agent's own session."""
        key = (asked.server.company_id, asked.server.name, asked.server.version)
        known = self._known.get(key)
        if known is not None and not anew and time.monotonic() < known[0] + FRESH_S:
            return known[1]
        found = await _listed(asked)
        self._known[key] = (time.monotonic(), found)
        self._known.move_to_end(key)
        if len(self._known) > SERVERS_MAX:
            self._known.popitem(last=False)
        return found


TOOLS = web.AppKey("mcp_tools", ToolLists)


async def says_it_reads(asked: Asked, call: Call, *, trusts: bool) -> tuple[bool, dict[str, str]]:
    """Whether the server says that a tool only reads, and the headers with which it is called.

    RpcRefused where the headers that mirror arguments are not what the arguments say.
    """
    mirrors = asked.modern or any(name.lower().startswith(PARAM) for name in asked.headers)
    if not (mirrors or trusts):
        return False, asked.headers
    lists = asked.request.app[TOOLS]
    tool = (await lists.tools(asked)).get(call.tool, {})
    if mirrors and (wrong := _mismatch(asked, call, tool)) is not None:
        tool = (await lists.tools(asked, anew=True)).get(call.tool, {})
        if (wrong := _mismatch(asked, call, tool)) is not None:
            raise RpcRefused(wrong.code, wrong.message, wrong.data, request_id=asked.body["id"])
    hints = tool.get("annotations")
    return isinstance(hints, dict) and hints.get("readOnlyHint") is True, asked.headers


def _mismatch(asked: Asked, call: Call, tool: dict[str, Any]) -> Any:
    from mcp.shared.inbound import validate_mcp_param_headers  # noqa: PLC0415 - an extra that may be missing

    return validate_mcp_param_headers(tool.get("inputSchema", {}), call.arguments, asked.request.headers)


async def _listed(asked: Asked) -> dict[str, Any]:
    """All tools, page by page; none where the server does not say."""
    meta = asked.body["params"].get("_meta") if asked.modern else None
    left_out = (NAME.lower(), METHOD.lower())
    headers = {
        name: one
        for name, one in asked.headers.items()
        if name.lower() not in left_out and not name.lower().startswith(PARAM)
    }
    if asked.modern:
        headers[METHOD] = LIST
        meta = {name: one for name, one in meta.items() if name != "progressToken"} if isinstance(meta, dict) else {}
    found: dict[str, Any] = {}
    try:
        upstream = await asked.request.app[SERVICES].dispatcher.upstream(asked.server.company_id, asked.server.name)
        cursor = None
        for _ in range(PAGES_MAX):
            params = {**({} if meta is None else {"_meta": meta}), **({} if cursor is None else {"cursor": cursor})}
            message, _headers = await upstream.ask(
                headers, {"jsonrpc": "2.0", "id": LIST_ID, "method": LIST, "params": params}
            )
            result = {} if message is None else message.get("result")
            if not isinstance(result, dict):
                break
            tools = result.get("tools")
            found |= {
                one["name"]: one for one in tools or () if isinstance(one, dict) and isinstance(one.get("name"), str)
            }
            if not isinstance(cursor := result.get("nextCursor"), str):
                break
    except (SendFailed, TimeoutError):
        return found
    return found

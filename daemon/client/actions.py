"""The API of actions of agents, as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from daemon.client.transport import ApiRequest, BaseClient, keyed, path, waiting, without_none
from daemon.contract.actions import (
    Action,
    ActionPauses,
    ActionRules,
    ActionSummary,
    ActionTrialResult,
    McpServer,
    McpServerChange,
)
from daemon.contract.company import GatedChange

ACTIONS = TypeAdapter(list[Action])
SUMMARIES = TypeAdapter(list[ActionSummary])
SERVERS = TypeAdapter(list[McpServer])
SERVER_CHANGES = TypeAdapter(list[McpServerChange])


class ActionsClient(BaseClient):
    """Calls that agents want to make, what decides about them, and what stops them."""

    async def request_action(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str | None = None,
        reasoning: str | None = None,
        context: Mapping[str, Any] | None = None,
        timeout: str | None = None,  # noqa: ASYNC109 - people are asked so long, as the API says it
        wait_s: int | None = None,
        key: str | None = None,
    ) -> Action:
        """Ask for a call, and wait at most `wait_s` until it has ended, for people, too.

        People are asked for as long as `timeout` (ISO 8601) says.
        """
        said = without_none(server=server, reasoning=reasoning, context=context, timeout=timeout)
        body = {"tool": tool, "arguments": dict(arguments or {}), **said}
        return await self._post(Action, "/actions/", body, key=key, headers=waiting(wait_s))

    async def action(self, action_id: str) -> Action:
        return await self._get(Action, "actions", action_id)

    def actions(self, /, *, limit: int = 50, **which: str | None) -> AsyncIterator[Action]:
        """The actions, newest first; filters are those of the API."""
        return self._all("/actions/", ACTIONS, {**without_none(**which), "limit": str(limit)})

    def action_summaries(self, /, *, limit: int = 50, **which: str | None) -> AsyncIterator[ActionSummary]:
        """The same without what they were to do and what came of it."""
        return self._all("/actions/", SUMMARIES, {**without_none(**which), "limit": str(limit), "view": "summary"})

    async def cancel_action(self, action_id: str, *, reason: str | None = None, key: str | None = None) -> Action:
        """Cancel an action that has not ended: one's own, and as a manager any."""
        where, body = path("actions", action_id), without_none(reason=reason)
        request = ApiRequest("DELETE", where, body=body, headers=keyed(key))
        return (await self._transport.send(request)).read(Action)

    async def action_rules(self, company_id: str) -> ActionRules:
        """The rules in their order with their hits of 30 days, and which agents are stopped."""
        return await self._get(ActionRules, "companies", company_id, "action-rules")

    async def put_action_rules(
        self, company_id: str, rules: Sequence[Mapping[str, Any]], *, version: int | None = None
    ) -> ActionRules:
        """Replace all rules, with a `version` only while they are those."""
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        body = {"rules": [dict(one) for one in rules]}
        request = ApiRequest("PUT", path("companies", company_id, "action-rules"), body=body, headers=headers)
        return (await self._transport.send(request)).read(ActionRules)

    async def try_action_rules(
        self,
        company_id: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> ActionTrialResult:
        """What the rules say of a call; nothing is counted or asked."""
        said = {"server": server, "agent": agent, "model": model, "context": context}
        given = {name: one for name, one in said.items() if one is not None}
        body = {"tool": tool, "arguments": dict(arguments or {}), **given}
        request = ApiRequest("POST", path("companies", company_id, "action-rules", "try"), body=body)
        return (await self._transport.send(request)).read(ActionTrialResult)

    async def propose_action_rule(self, action_id: str, *, key: str | None = None) -> GatedChange:
        """Propose always to allow such calls; an admin accepts it, or nobody does."""
        return await self._post(GatedChange, path("actions", action_id, "rule-proposal"), {}, key=key)

    async def pause_actions(self, company_id: str, reason: str, *, agent: str | None = None) -> ActionPauses:
        """Stop an agent, or all without a name."""
        body = {"reason": reason, **({} if agent is None else {"agent": agent})}
        return await self._put(ActionPauses, "companies", company_id, "action-rules", "pause", body=body)

    async def resume_actions(self, company_id: str, *, agent: str | None = None) -> None:
        """Let an agent go on, or lift what stops all."""
        query = {} if agent is None else {"agent": agent}
        await self._transport.send(ApiRequest("DELETE", path("companies", company_id, "action-rules", "pause"), query))

    def mcp_servers(self) -> AsyncIterator[McpServer]:
        """The servers that agents reach through the service, by name."""
        return self._all("/mcp-servers/", SERVERS)

    async def mcp_server(self, name: str) -> McpServer:
        """A server of agents, without its secret."""
        return await self._get(McpServer, "mcp-servers", name)

    async def put_mcp_server(self, /, name: str, url: str, auth_token: str | None = None, **how: Any) -> McpServer:
        """Let agents reach a server; without a secret the stored one stays, at the same origin."""
        body = {"url": url, **({} if auth_token is None else {"auth_token": auth_token}), **how}
        return await self._put(McpServer, "mcp-servers", name, body=body)

    async def delete_mcp_server(self, name: str) -> None:
        """Let agents reach a server no more; no error when there is none."""
        await self._delete("mcp-servers", name)

    def mcp_server_changes(self, name: str) -> AsyncIterator[McpServerChange]:
        """The changes of a server, newest first."""
        return self._all(path("mcp-servers", name, "changes"), SERVER_CHANGES)

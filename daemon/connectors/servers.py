"""The MCP servers of each company, which agents reach through this service: cached, and changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, get_args

from msgspec.structs import asdict

from actors.core.calls import AuthType, Connector, Connectors, StoredBinding
from actors.core.messages import kept_kind
from actors.core.people import ByKind
from actors.core.template import Tier, ToolEffect
from actors.ports import StoreFailed
from daemon.connectors.egress import same_origin
from daemon.keys.vault import AUTH_TOKEN, SealBroken, Vault
from daemon.model import SESSION, StoredConnector
from daemon.model.actions import McpServerChange, StoredMcpServer
from daemon.model.audit_events import Caller, SecretChange
from daemon.model.people.changes import ChangeDecision, ChangeStale
from daemon.stores.store import Store

COMPANIES_MAX = 10_000
TOOL = "/"
"""Between a server and its tool; no tool-id of a connector has one."""
CALL_TIMEOUT_S = 300.0
EFFECTS, TIERS = get_args(ToolEffect), get_args(Tier)
ALL_TOOLS = TOOL + "*"
"""Behind the name of a server: all its tools, as changes of it are named."""
FORM = ("auth_type", "reversible", "tools", "trust_annotations", "url", "wait_s")


class ServerForm(NamedTuple):
    """A server as an admin writes it."""

    url: str
    auth_type: AuthType
    reversible: bool
    trust_annotations: bool
    wait_s: int
    tools: dict[str, Any]


@dataclass(frozen=True, slots=True)
class By:
    """Who changes a server, and how."""

    name: str
    via: str = SESSION
    kind: ByKind = "person"
    caller: Caller | None = None


def sealed_at(server: str) -> str:
    """Where the secret of a server is sealed; no connector's place."""
    return server + TOOL


def connector_of(server: StoredMcpServer, tool_id: str) -> Connector:
    """A tool of a server, `server/tool`, as the connector by which it is called.

    What the server is said to only read is called though the server is not live.
    """
    known = server.tools.get(tool_id.partition(TOOL)[2]) or {}
    return Connector(
        tool_id=tool_id,
        version=server.version,
        base_url=server.url,
        method="POST",
        path="",
        auth_type=server.auth_type,  # type: ignore[arg-type]
        reversible=server.reversible or known.get("effect") == "read",
        timeout_s=CALL_TIMEOUT_S,
        retries=0,
        protocol="mcp",
    )


def effect_of(server: StoredMcpServer, tool: str) -> ToolEffect | None:
    """What the company says that a tool of a server does; None where it says nothing."""
    found: ToolEffect | None = (server.tools.get(tool) or {}).get("effect")
    return found


def tier_of(server: StoredMcpServer, tool: str) -> Tier | None:
    """The tier that the company says that calls of a tool have; None where it says nothing."""
    found: Tier | None = (server.tools.get(tool) or {}).get("tier")
    return found


def loosens(before: StoredMcpServer | None, after: ServerForm) -> bool:
    """Whether another person has to look: calls go out that did not, or are asked less about.

    So it is of each change of a server that is live.
    """
    if after.reversible or (after.trust_annotations and not (before is not None and before.trust_annotations)):
        return True
    known = {} if before is None else before.tools
    return any(_is_looser(known.get(name) or {}, after.tools.get(name) or {}) for name in {*known, *after.tools})


def _is_looser(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a tool is said to do less than before, or has a lower tier."""
    effects = [(one.get("effect") or "irreversible") for one in (before, after)]
    tiers = [(one.get("tier") or "low") for one in (before, after)]
    return EFFECTS.index(effects[1]) < EFFECTS.index(effects[0]) or TIERS.index(tiers[1]) < TIERS.index(tiers[0])


def stored_tool(server: StoredMcpServer | None, tool_id: str) -> StoredConnector | None:
    """A tool of a server with its sealed secret."""
    if server is None:
        return None
    at, by = server.changed_at, server.changed_by
    return StoredConnector(server.company_id, connector_of(server, tool_id), server.sealed_secret, at, at, by)


class WithServers(dict[str, Connector]):
    """The connectors of a company, with the tools of its servers, whose names it does not know."""

    def __init__(self, connectors: Connectors, servers: Mapping[str, StoredMcpServer]) -> None:
        super().__init__(connectors)
        self._servers = servers

    def get(self, key: str, default: Any = None) -> Any:
        server = self._servers.get(key.partition(TOOL)[0]) if TOOL in key else None
        if server is None:
            return super().get(key, default)
        return StoredBinding(**asdict(connector_of(server, key)), changed_by=server.changed_by)


class McpServers:
    """Servers by company and name; changes are serialized, and durable before visible."""

    def __init__(
        self,
        repository: Store,
        vault: Vault,
        now: Callable[[], datetime],
        *,
        shared: bool,
        changed: Callable[[str], None],
    ) -> None:
        """`changed` is told whose servers change; with `shared`, other daemons change them."""
        self._repository, self._vault, self._now = repository, vault, now
        self._shared, self._changed = shared, changed
        self._held: dict[str, dict[str, StoredMcpServer]] = {}
        self._forgotten = 0
        self._change = asyncio.Lock()

    def drop(self, company_id: str) -> None:
        """Forget a company's servers: another daemon changed them."""
        self._forgotten += 1
        self._held.pop(company_id, None)

    async def all(self, company_id: str) -> dict[str, StoredMcpServer]:
        """A company's servers by name, in order."""
        held = self._held.get(company_id)
        while held is None:
            forgotten = self._forgotten
            found = await self._repository.servers_of(company_id)
            held = self._held.get(company_id)
            if held is None and forgotten == self._forgotten:
                held = self._hold(company_id, {one.name: one for one in found})
        return held

    async def one(self, company_id: str, name: str) -> StoredMcpServer | None:
        """The server of that name."""
        return (await self.all(company_id)).get(name)

    async def put(
        self,
        company_id: str,
        name: str,
        form: ServerForm,
        secret: str | None,
        by: By,
        *,
        check_looser: Callable[[], None] = lambda: None,
        approved: ChangeDecision | None = None,
    ) -> tuple[StoredMcpServer, StoredMcpServer | None]:
        """Store a server; returns it and the one before.

        The secret stays while the origin does, and one that says the same keeps its version.
        `check_looser` refuses a change that `loosens`. One that was `approved` is kept with its
        approval, or ChangeStale is raised where another change came before it.
        """
        async with self._change:
            if self._shared:
                self.drop(company_id)
            held = await self.all(company_id)
            earlier = held.get(name)
            sealed = await self._sealed(company_id, name, form, secret, earlier)
            number, version = await self._next(company_id, name)
            if approved is not None and approved.change.stands_on != number - 1:
                raise ChangeStale
            stored = StoredMcpServer(
                company_id=company_id,
                name=name,
                version=version,
                sealed_secret=sealed,
                changed_at=self._now(),
                changed_by=by.name,
                **form._asdict(),
            )
            same = earlier is not None and _said(earlier) == _said(stored) and sealed == earlier.sealed_secret
            if same and earlier is not None and approved is None:
                return earlier, earlier
            if not same and loosens(earlier, form):
                check_looser()
            change = _changed(number, earlier, stored, at=stored.changed_at, by=by)
            await self._repository.put_server(stored, change, approved)
            self._hold(company_id, dict(sorted({**held, name: stored}.items())))
            self._changed(company_id)
            return stored, earlier

    async def asked(self, company_id: str, name: str, secret: str | None) -> tuple[int, bytes | None]:
        """What a change that waits for approval stands on, and its secret as it is sealed."""
        number, _ = await self._next(company_id, name)
        try:
            sealed = None if secret is None else await self._vault.seal(*_place(company_id, name), secret)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be sealed: {broken}", "not_applied") from None
        return number - 1, sealed

    async def opened(self, company_id: str, name: str, sealed: bytes | None) -> str | None:
        """The secret of a change that waited for approval."""
        try:
            return None if sealed is None else await self._vault.open(*_place(company_id, name), sealed)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be opened: {broken}", "not_applied") from None

    async def delete(self, company_id: str, name: str, by: By) -> bool:
        """Delete a server; False when there was none."""
        async with self._change:
            if self._shared:
                self.drop(company_id)
            held = await self.all(company_id)
            if name not in held:
                return False
            number, _ = await self._next(company_id, name)
            await self._repository.delete_server(_changed(number, held[name], None, at=self._now(), by=by))
            self._hold(company_id, {one: kept for one, kept in held.items() if one != name})
            self._changed(company_id)
            return True

    async def changes(
        self, company_id: str, name: str, before: int | None, limit: int
    ) -> Sequence[McpServerChange] | None:
        """The changes of a server, newest first; None for one that never was."""
        found = await self._repository.server_changes(company_id, name, before, limit)
        if not found and not await self._repository.server_changes(company_id, name, None, 1):
            return None
        return found

    async def secret(self, server: StoredMcpServer) -> str | None:
        """The secret that the server is called with; SealBroken where it cannot be read."""
        if server.sealed_secret is None or server.auth_type == "none":
            return None
        return await self._vault.open(server.company_id, sealed_at(server.name), AUTH_TOKEN, server.sealed_secret)

    async def _next(self, company_id: str, name: str) -> tuple[int, int]:
        """The number of the next change, and the version of the server after it."""
        last = await self._repository.server_changes(company_id, name, None, 1)
        return (last[0].number + 1, last[0].version + 1) if last else (1, 1)

    async def _sealed(
        self, company_id: str, name: str, form: ServerForm, secret: str | None, earlier: StoredMcpServer | None
    ) -> bytes | None:
        held = None if earlier is None else earlier.sealed_secret
        if secret is None:
            stays = earlier is not None and form.auth_type != "none" and same_origin(earlier.url, form.url)
            return held if stays else None
        place = _place(company_id, name)
        try:
            if held is not None and await self._vault.holds(*place, held, secret):
                return held
            return await self._vault.seal(*place, secret)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be sealed: {broken}", "not_applied") from None

    def _hold(self, company_id: str, held: dict[str, StoredMcpServer]) -> dict[str, StoredMcpServer]:
        if company_id not in self._held and len(self._held) >= COMPANIES_MAX:
            del self._held[next(iter(self._held))]
        self._held[company_id] = held
        return held


def _place(company_id: str, name: str) -> tuple[str, str, str]:
    return company_id, sealed_at(name), AUTH_TOKEN


def _said(one: StoredMcpServer) -> dict[str, Any]:
    return {name: getattr(one, name) for name in FORM}


def _changed(
    number: int, before: StoredMcpServer | None, after: StoredMcpServer | None, *, at: datetime, by: By
) -> McpServerChange:
    one = after or before
    assert one is not None  # noqa: S101 - one of them is there
    change = McpServerChange(
        company_id=one.company_id,
        name=one.name,
        number=number,
        version=one.version,
        at=at,
        by=by.name,
        secret=_secret_change(before, after),
        before=None if before is None else _said(before),
        after=None if after is None else _said(after),
        via=by.via,
    )
    return replace(change, by_kind=kept_kind(by.kind), caller=by.caller)


def _secret_change(before: StoredMcpServer | None, after: StoredMcpServer | None) -> SecretChange:
    earlier, later = (None if one is None else one.sealed_secret for one in (before, after))
    if later is None:
        return "none" if earlier is None else "removed"
    if earlier is None:
        return "set"
    return "kept" if later == earlier else "changed"

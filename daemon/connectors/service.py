"""The connectors of each company: cached, changed, and tried without a run."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict, replace

from actors.core.calls import CallRequest, Connector, Connectors, Missing, StoredBinding, prepare, shown
from actors.core.messages import kept_kind
from actors.core.people import ByKind
from actors.core.template import Node
from actors.failpoints import reach
from actors.ports import Asker, StoreFailed
from daemon.connectors.credentials import secrets_of
from daemon.connectors.egress import same_recipient
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.connectors.responses import ResponseReader, succeeded, why_not
from daemon.connectors.retry import Retrier
from daemon.connectors.sending import SendCheck
from daemon.connectors.servers import TOOL, McpServers, WithServers, stored_tool
from daemon.connectors.tokens import AccessTokens
from daemon.keys.vault import AUTH_TOKEN, SealBroken, Vault
from daemon.model import SESSION, StoredConnector, StoredConnectorChange
from daemon.model.actions import StoredMcpServer
from daemon.model.audit_events import Caller, SecretChange
from daemon.model.people.changes import ChangeDecision, ChangeStale
from daemon.stores.store import Store

COMPANIES_MAX = 10_000


class ConnectorService:
    """Connectors by company and tool-id; changes are serialized, and durable before visible."""

    def __init__(self, repository: Store, vault: Vault, now: Callable[[], datetime], *, shared: bool = False) -> None:
        """With `shared`, other daemons change the same connectors."""
        self._repository = repository
        self._vault = vault
        self._now = now
        self._shared = shared
        self._held: dict[str, dict[str, StoredConnector]] = {}
        self._public: dict[str, Connectors] = {}
        self._forgotten = 0
        self._listeners: list[Callable[[str], None]] = []
        self._change = asyncio.Lock()
        self.servers = McpServers(repository, vault, now, shared=shared, changed=self._dropped)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call the listener with the company whenever its connectors change, here or elsewhere."""
        self._listeners.append(listener)

    def forget(self, company_id: str) -> None:
        """Drop a company's connectors from the cache: another daemon changed them."""
        self.servers.drop(company_id)
        self._dropped(company_id)

    async def connectors(self, company_id: str) -> Connectors:
        """A company's connectors by tool-id, without secrets; of its servers by `server/tool`."""
        await self.all(company_id)
        return self._public[company_id]

    async def all(self, company_id: str) -> dict[str, StoredConnector]:
        """A company's connectors by tool-id, in order."""
        held = self._held.get(company_id)
        while held is None:
            forgotten = self._forgotten
            found = await self._repository.connectors_of(company_id)
            servers = await self.servers.all(company_id)
            # The result is stale if a connector was changed meanwhile, here or elsewhere.
            held = self._held.get(company_id)
            if held is None and forgotten == self._forgotten:
                held = self._hold(company_id, {one.connector.tool_id: one for one in found}, servers)
        return held

    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        if TOOL in tool_id:
            return stored_tool(await self.servers.one(company_id, tool_id.partition(TOOL)[0]), tool_id)
        return (await self.all(company_id)).get(tool_id)

    async def find_deleted(self, company_id: str, tool_id: str) -> Connector | None:
        """The connector that the last change of the tool-id deleted."""
        if TOOL in tool_id:
            return None
        return await find_deleted(self._repository, company_id, tool_id)

    async def put(
        self,
        company_id: str,
        connector: Connector,
        secret: str | None,
        by: str,
        *,
        via: str = SESSION,
        kind: ByKind = "person",
        check_live: Callable[[], None] = lambda: None,
        caller: Caller | None = None,
        approved: ChangeDecision | None = None,
    ) -> tuple[StoredConnector, StoredConnector | None]:
        """Store a connector; returns it and the one before.

        The secret stays while the origin does. An unchanged connector keeps its version, so that
        gates stay valid, and its author. `check_live` refuses who may not let a connector go live,
        nor change one that is. One that was `approved` is kept with its approval, or ChangeStale
        is raised where another change came before it.
        """
        async with self._change:
            self._fresh(company_id)
            earlier = await self.stored(company_id, connector.tool_id)
            sealed = await self._sealed(company_id, connector, secret, earlier)
            same = earlier is not None and sealed == earlier.sealed_secret and _alike(connector, earlier.connector)
            if not same and (connector.reversible or (earlier is not None and earlier.connector.reversible)):
                check_live()
            number, version = await self._next(company_id, connector.tool_id)
            if approved is not None and approved.change.stands_on != number - 1:
                raise ChangeStale
            now = self._now()
            stored = StoredConnector(
                company_id=company_id,
                connector=replace(connector, version=version),
                sealed_secret=sealed,
                created_at=now if earlier is None else earlier.created_at,
                updated_at=now,
                updated_by=by,
            )
            if same and earlier is not None:
                stored = earlier
            change = _change(number, earlier, stored, at=now, by=by, via=via)
            change = dataclasses.replace(
                change, by_kind=kept_kind(kind), unchanged=True if same else UNSET, caller=caller
            )
            await self._repository.put_connector(stored, change, approved)
            reach("connector-kept")
            self._dropped(company_id)
            return stored, earlier

    async def asked(self, company_id: str, tool_id: str, secret: str | None) -> tuple[int, bytes | None]:
        """What a change that waits for approval stands on, and its secret as it is sealed."""
        number, _ = await self._next(company_id, tool_id)
        if secret is None:
            return number - 1, None
        try:
            return number - 1, await self._vault.seal(company_id, tool_id, AUTH_TOKEN, secret)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be sealed: {broken}", "not_applied") from None

    async def opened(self, company_id: str, tool_id: str, sealed: bytes | None) -> str | None:
        """The secret of a change that waited for approval."""
        try:
            return None if sealed is None else await self._vault.open(company_id, tool_id, AUTH_TOKEN, sealed)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be opened: {broken}", "not_applied") from None

    async def delete(
        self,
        company_id: str,
        tool_id: str,
        by: str,
        *,
        via: str = SESSION,
        kind: ByKind = "person",
        caller: Caller | None = None,
    ) -> bool:
        """Delete a connector; False when there was none."""
        async with self._change:
            self._fresh(company_id)
            held = await self.all(company_id)
            if tool_id not in held:
                return False
            number, _ = await self._next(company_id, tool_id)
            deletion = _change(number, held[tool_id], None, at=self._now(), by=by, via=via)
            deletion = dataclasses.replace(deletion, by_kind=kept_kind(kind), caller=caller)
            await self._repository.delete_connector(deletion)
            self._dropped(company_id)
            return True

    async def changes(
        self, company_id: str, tool_id: str, before: int | None, limit: int
    ) -> Sequence[StoredConnectorChange] | None:
        """The changes of a connector, newest first; None for an unknown tool-id."""
        found = await self._repository.connector_changes(company_id, tool_id, before, limit)
        if not found and not await self._repository.connector_changes(company_id, tool_id, None, 1):
            return None
        return found

    async def _next(self, company_id: str, tool_id: str) -> tuple[int, int]:
        """The number of the next change, and the version of the connector after it."""
        last = await self._repository.connector_changes(company_id, tool_id, None, 1)
        return (last[0].number + 1, last[0].version + 1) if last else (1, 1)

    async def _sealed(
        self, company_id: str, connector: Connector, secret: str | None, earlier: StoredConnector | None
    ) -> bytes | None:
        """The given secret, sealed; the stored one if unchanged, or sent to the same place."""
        held = None if earlier is None else earlier.sealed_secret
        if secret is None:
            stays = earlier is not None and same_recipient(earlier.connector, connector)
            return held if stays else None
        place = (company_id, connector.tool_id, AUTH_TOKEN)
        try:
            if held is not None and await self._vault.holds(*place, held, secret):
                return held
            return await self._vault.seal(*place, secret)
        except SealBroken as broken:
            raise StoreFailed(f"The secret cannot be sealed: {broken}", "not_applied") from None

    def _fresh(self, company_id: str) -> None:
        """Drop the cache before a change when other daemons may have changed connectors."""
        if self._shared:
            self._drop(company_id)

    def _drop(self, company_id: str) -> None:
        self._forgotten += 1
        self._held.pop(company_id, None)
        self._public.pop(company_id, None)

    def _dropped(self, company_id: str) -> None:
        """Read a company's connectors and servers anew, and tell that they have changed."""
        self._drop(company_id)
        for listener in self._listeners:
            listener(company_id)

    def _hold(
        self, company_id: str, held: dict[str, StoredConnector], servers: Mapping[str, StoredMcpServer]
    ) -> dict[str, StoredConnector]:
        if company_id not in self._held and len(self._held) >= COMPANIES_MAX:
            oldest = next(iter(self._held))
            del self._held[oldest], self._public[oldest]
        self._held[company_id] = held
        public = {name: _public(one) for name, one in held.items()}
        self._public[company_id] = WithServers(public, servers) if servers else public
        return held


async def find_deleted(repository: Store, company_id: str, tool_id: str) -> Connector | None:
    """The connector before the last change of a tool-id that has none."""
    last = await repository.connector_changes(company_id, tool_id, None, 1)
    return last[0].before if last else None


def _alike(one: Connector, other: Connector) -> bool:
    """Whether connectors are the same but for their version."""
    return replace(one, version=other.version) == other


def _public(stored: StoredConnector) -> StoredBinding:
    return StoredBinding(**asdict(stored.connector), changed_by=stored.updated_by)


def _change(
    number: int, before: StoredConnector | None, after: StoredConnector | None, *, at: datetime, by: str, via: str
) -> StoredConnectorChange:
    one = after or before
    assert one is not None  # noqa: S101 - one of them is there
    return StoredConnectorChange(
        company_id=one.company_id,
        tool_id=one.connector.tool_id,
        number=number,
        version=one.connector.version,
        at=at,
        by=by,
        secret=_secret_change(before, after),
        before=None if before is None else before.connector,
        after=None if after is None else after.connector,
        via=via,
    )


def _secret_change(before: StoredConnector | None, after: StoredConnector | None) -> SecretChange:
    earlier, later = (None if one is None else one.sealed_secret for one in (before, after))
    if later is None:
        return "none" if earlier is None else "removed"
    if earlier is None:
        return "set"
    return "kept" if later == earlier else "changed"


HARMLESS = frozenset({"GET"})


@dataclass(frozen=True, slots=True)
class Samples:
    """What stands for a run; without both, nothing is mapped. `send` where it is asked for."""

    inputs: dict[str, Any] | None = None
    facts: dict[str, Any] | None = None
    send: bool | None = None


NO_SAMPLES = Samples()


class ConnectorTester:
    """Tests connectors with one call each, within the limits of all calls."""

    def __init__(
        self,
        http: HttpConnector,
        send_check: SendCheck,
        retrier: Retrier,
        responses: ResponseReader,
        tokens: AccessTokens,
    ) -> None:
        self._http = http
        self._send_check = send_check
        self._retrier = retrier
        self._responses = responses
        self._tokens = tokens

    async def test(
        self, company_id: str, connector: Connector, secret: str | None, samples: Samples = NO_SAMPLES
    ) -> dict[str, Any]:
        """Test a connector with one call; never fails because of the server.

        The stored secret is used only without a given one and for the same origin; an open circuit
        is ignored. What may change something is sent only when asked to.
        """
        prepared = _prepared(connector, samples)
        if isinstance(prepared, Missing):
            lacking = f"The samples lack {', '.join(prepared.keys)}; nothing was sent."
            return {**_tested(prepared.partial, error=lacking), "missing": prepared.keys}
        asked = connector.method in HARMLESS if samples.send is None else samples.send
        if not asked:
            return _tested(
                prepared, error=f"A {connector.method} is sent only with `send`; this is what would be sent."
            )
        try:
            if secret is None:
                secret = await self._send_check.secret_for(company_id, connector)
            attempt = partial(self._attempt, company_id, connector, secret, prepared)
            answer, output = await self._retrier.once(company_id, attempt)
        except SendFailed as none:
            return _tested(prepared, sent=none.maybe_sent, status_code=none.status_code, error=none.detail)
        error = None if succeeded(answer.status) else why_not(answer)
        return _tested(prepared, sent=True, answer=answer, output=output, status_code=answer.status, error=error)

    async def _attempt(
        self, company_id: str, connector: Connector, secret: str | None, request: CallRequest
    ) -> tuple[HttpResponse, Any]:
        """The whole response, and what a run would take of it."""
        send = partial(self._send, connector, request)
        answer, tokens = await self._tokens.through(company_id, connector, secret, send)
        secrets = (*secrets_of(connector, secret), *tokens)
        taken = await self._responses.take_in(Asker(company_id), connector, secrets, answer)
        return await self._responses.masked(company_id, secrets, answer), taken.body

    async def _send(self, connector: Connector, request: CallRequest, secret: str | None) -> HttpResponse:
        timeout_s = connector.timeout_s
        return await self._http.send(request, secret=secret, connector=connector, headers={}, timeout_s=timeout_s)


def _tested(
    request: CallRequest | None,
    *,
    error: str | None,
    sent: bool = False,
    status_code: int | None = None,
    answer: HttpResponse | None = None,
    output: Any = None,
) -> dict[str, Any]:
    return {
        "ok": error is None,
        "status_code": status_code,
        "latency_ms": None if answer is None else answer.latency_ms,
        "body": None if answer is None else answer.body,
        "error": error,
        "sent": sent,
        "request": shown(request),
        "missing": (),
        "output": None if error is not None else output,
    }


def _prepared(connector: Connector, samples: Samples) -> CallRequest | Missing:
    """The request of a run with these inputs and facts; without any, maps are left out."""
    live = replace(connector, reversible=True)
    if samples.inputs is None and samples.facts is None:
        live = replace(live, query_map=None, body_map=None)
    node = Node(connector.tool_id, "task", connector.tool_id)
    return prepare(node, {connector.tool_id: live}, samples.inputs or {}, samples.facts or {})

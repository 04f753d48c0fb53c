"""The store in memory: the same promises but durability, for tests and for trying things out."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from actors.ports import StoreFailed, VersionConflict
from daemon.model import EmailTaken, ParkedRun, Recorded, SchemaMismatch
from daemon.model.audit_events import Logged
from daemon.runtime.clock import utc_now
from daemon.stores import codec
from daemon.stores.memory.webhooks import MemoryTelling

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import datetime

    from actors.core.run import Run
    from actors.ports import Commit, Receipt
    from daemon.model import (
        Account,
        CompanyKey,
        ConnectorChange,
        RunQuery,
        StoredConnector,
        StoreState,
        TemplateDocument,
    )


@dataclass(slots=True)
class _Kept:
    """A run as bytes, so that nobody shares an object with the store."""

    snapshot: bytes = b""
    version: int = 0
    resting: bool = False


class MemoryStore(MemoryTelling):
    """All that is durable elsewhere, for as long as the process lives."""

    shared = False

    failed = False

    def __init__(self, clock: Callable[[], datetime] = utc_now) -> None:
        super().__init__(clock)
        self._runs: dict[tuple[str, str], _Kept] = {}
        self._accounts: dict[str, Account] = {}
        self._revoked: dict[str, datetime] = {}
        self._connectors: dict[tuple[str, str], tuple[bytes, StoredConnector]] = {}
        self._changes: dict[tuple[str, str], dict[int, ConnectorChange]] = {}
        self._company_keys: dict[str, CompanyKey] = {}
        self._templates: dict[str, TemplateDocument] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, *, clock: Callable[[], datetime] = utc_now) -> AsyncIterator[MemoryStore]:
        """An empty store, opened like the durable one."""
        yield cls(clock)

    async def ping(self) -> None:
        """Memory can always be written."""

    async def look(self) -> None:
        """There is nothing to see."""

    @property
    def state(self) -> StoreState:
        """Memory can always be written."""
        return "ok"

    async def append(self, commit: Commit) -> None:
        """Keep a commit, or raise VersionConflict or ReceiptTaken."""
        run, receipt = commit.run, commit.receipt
        key = (run.company_id, run.id)
        events, snapshot = codec.encode_events(commit.events), codec.encode_run(run)
        self._refuse_taken(receipt)
        kept = self._runs.get(key, _Kept())
        if kept.version != commit.expected_version:
            raise VersionConflict(f"The run {run.id} is not at version {commit.expected_version}.")
        self._keep(receipt)
        if commit.events:
            self.add(key, commit.expected_version + 1, *events)
        kept.snapshot, kept.version, kept.resting = snapshot, run.version, commit.resting
        self._runs[key] = kept

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run."""
        kept = self._runs.get((company_id, run_id))
        return None if kept is None else codec.decode_run(kept.snapshot)

    async def find(self, company_id: str, query: RunQuery) -> Sequence[Run]:
        """The runs that a query asks for."""
        found: list[Run] = []
        for (company, _), kept in sorted(self._runs.items(), reverse=True, key=lambda item: item[0]):
            if company == company_id and len(found) < query.limit:
                run = codec.decode_run(kept.snapshot)
                found += [run] if _asked(run, query) else []
        return found

    async def history(self, company_id: str, run_id: str, after: int, limit: int) -> Sequence[Recorded]:
        """At most `limit` events of a run whose seq is greater than `after`."""
        recorded = (
            Recorded(seq, event)
            for one in self.read((company_id, run_id))
            for seq, event in enumerate(codec.decode_events(one.events, one.exact), one.first_seq)
        )
        return [one for one in recorded if one.seq > after][: max(0, limit)]

    async def unfinished(self) -> Sequence[tuple[str, str]]:
        """The (company_id, run_id) of every run that is not at rest."""
        return sorted(key for key, kept in self._runs.items() if not kept.resting)

    async def claim(self) -> Sequence[tuple[str, str]]:
        """Every run that is not at rest: there is nobody else who sees to them."""
        return await self.unfinished()

    async def restless(self, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """At most `limit` runs behind a key that are not at rest, or that say so and wait for nobody."""
        return sorted(key for key, kept in self._runs.items() if key > after and _restless(kept))[:limit]

    async def parked(self, after: tuple[str, str], limit: int) -> Sequence[ParkedRun]:
        """At most `limit` runs behind a key that wait for a human, in order."""
        runs = (codec.decode_run(kept.snapshot) for key, kept in sorted(self._runs.items()) if key > after)
        waiting = [run for run in runs if run.parked][:limit]
        return [
            ParkedRun(run.company_id, run.id, run.vertical, len(run.parked), run.updated_at, run.created_at)
            for run in waiting
        ]

    async def register(self, account: Account, receipt: Receipt | None, logged: Sequence[Logged] = ()) -> None:
        """Keep a new company with its first user; EmailTaken when the address has an account."""
        key = codec.email_key(account.user.email)
        self._refuse_taken(receipt)
        if key in self._accounts:
            raise EmailTaken("An account with this e-mail address exists.")
        self._keep(receipt)
        self._accounts[key] = account
        for one in logged:
            await self.log(one)

    async def account_by_email(self, email: str) -> Account | None:
        """The account of an e-mail address, whatever its case."""
        return self._accounts.get(codec.email_key(email))

    async def account(self, user_id: str) -> Account | None:
        """The account of a user."""
        return next((account for account in self._accounts.values() if account.user.id == user_id), None)

    async def revoke(self, token_id: str, expires_at: datetime, logged: Logged | None = None) -> None:
        """Remember that a token no longer counts, until it would have expired."""
        self._revoked[token_id] = expires_at
        if logged is not None:
            await self.log(logged)

    async def revoked(self) -> dict[str, datetime]:
        """The revoked tokens that have not expired yet, and when each will."""
        now = self._clock()
        return {token: expires_at for token, expires_at in self._revoked.items() if expires_at > now}

    async def drop_revocations(self, before: datetime) -> None:
        """Drop the revocations of tokens that expired before that time."""
        self._revoked = {token: expires_at for token, expires_at in self._revoked.items() if expires_at > before}

    async def put_connector(self, stored: StoredConnector, change: ConnectorChange) -> None:
        """Keep a connector in place of any earlier one, and its change; StoreFailed when the number is taken."""
        encoded = codec.encode_connector(stored.connector)
        await self._add_change(change)
        self._connectors[stored.company_id, stored.connector.tool_id] = encoded, stored

    async def delete_connector(self, change: ConnectorChange) -> bool:
        """Forget the connector that the change names and keep the change; False, and nothing kept, without one."""
        key = (change.company_id, change.tool_id)
        if key not in self._connectors:
            return False
        await self._add_change(change)
        del self._connectors[key]
        return True

    async def connectors_of(self, company_id: str) -> Sequence[StoredConnector]:
        """A company's connectors by tool-id, in order."""
        return [
            replace(stored, connector=codec.decode_connector(encoded))
            for (company, _), (encoded, stored) in sorted(self._connectors.items(), key=lambda item: item[0])
            if company == company_id
        ]

    async def connector_changes(
        self, company_id: str, tool_id: str, before: int | None, limit: int
    ) -> Sequence[ConnectorChange]:
        """At most `limit` changes of a tool's connector, newest first, those with a number below `before`."""
        kept = self._changes.get((company_id, tool_id), {})
        numbers = sorted((number for number in kept if before is None or number < before), reverse=True)
        return [_own(kept[number]) for number in numbers[:limit]]

    async def company_key(self, company_id: str) -> CompanyKey | None:
        """A company's key."""
        return self._company_keys.get(company_id)

    async def add_company_key(self, key: CompanyKey) -> CompanyKey:
        """Keep a company's key unless it has one; returns the one that counts."""
        return self._company_keys.setdefault(key.company_id, key)

    async def company_keys(self, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
        """At most `limit` keys that are not wrapped by the key of that id, by company behind the company `after`."""
        found = [key for company, key in sorted(self._company_keys.items()) if company > after and key.key_id != not_by]
        return found[:limit]

    async def rewrap_company_keys(self, keys: Sequence[CompanyKey]) -> None:
        """Put other wrappings in place of the earlier ones, all or none."""
        for key in keys:
            if (kept := self._company_keys.get(key.company_id)) is not None:
                self._company_keys[key.company_id] = replace(kept, key_id=key.key_id, wrapped=key.wrapped)

    async def keep_template(self, document: TemplateDocument) -> None:
        """Keep a template; SchemaMismatch when its vertical and version are taken by another digest."""
        for kept in self._templates.values():
            same = (kept.vertical, kept.version) == (document.vertical, document.version)
            if same and kept.digest != document.digest:
                raise SchemaMismatch(codec.version_taken(document, kept.digest))
        self._templates.setdefault(document.digest, document)

    async def template_document(self, digest: str) -> TemplateDocument | None:
        """The template of that digest."""
        return self._templates.get(digest)

    async def _add_change(self, change: ConnectorChange) -> None:
        kept = self._changes.setdefault((change.company_id, change.tool_id), {})
        if change.number in kept:
            raise StoreFailed("The number of the change is taken.", "not_applied")
        kept[change.number] = _own(change)
        await self.log(Logged(change.company_id, codec.connector_changed(change)))


def _own(change: ConnectorChange) -> ConnectorChange:
    """The change with connectors that nobody else holds."""
    before, after = (codec.decode_state(codec.encode_state(state)) for state in (change.before, change.after))
    return replace(change, before=before, after=after)


def _restless(kept: _Kept) -> bool:
    run = codec.decode_run(kept.snapshot)
    return not kept.resting or run.status == "executing" or (run.status == "parked" and not run.parked)


def _asked(run: Run, query: RunQuery) -> bool:
    return (
        (query.before is None or run.id < query.before)
        and (query.status is None or run.status == query.status)
        and (query.vertical is None or run.vertical == query.vertical)
        and (query.parked_at is None or any(visit.step_id == query.parked_at for visit in run.parked))
    )

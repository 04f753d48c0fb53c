"""The repositories that both stores share: each method reads or writes the tables."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import structlog

from actors.ports import Receipt
from daemon.model import Account, CompanyKey, ConnectorChange, StoredConnector, TemplateDocument
from daemon.model.audit_events import Logged
from daemon.model.webhooks import Webhook
from daemon.stores.database import Work
from daemon.stores.group_commit import drop_all
from daemon.stores.rows import text
from daemon.stores.tables import (
    accounts,
    audit,
    company_log,
    connectors,
    event_log,
    receipts,
    runs,
    templates,
    webhooks,
)

if TYPE_CHECKING:
    from daemon.observability.metrics import Metrics

P = ParamSpec("P")
T = TypeVar("T")
_log = structlog.get_logger()


def read(
    query: Callable[Concatenate[Any, P], Awaitable[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that runs a query on a reading connection."""

    async def method(self: Repositories, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read(lambda db: query(db, *args, **kwargs))

    return method


def write(
    work: Callable[Concatenate[Any, P], Awaitable[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that runs a work among the writes of the company of its first argument."""

    async def method(self: Repositories, /, *args: P.args, **kwargs: P.kwargs) -> T:
        first: Any = args[0]
        company_id = first if isinstance(first, str) else first.company_id
        return await self._write(company_id, lambda db: work(db, *args, **kwargs))

    return method


class Repositories:
    """The repositories over a database; a store implements `_read` and `_write`."""

    _clock: Callable[[], datetime]
    _metrics: Metrics | None

    async def _read(self, query: Work[T]) -> T:
        """Run a query; HistoryBroken or StoreFailed when the database cannot be read."""
        raise NotImplementedError

    async def _write(self, company_id: str, work: Work[T]) -> T:
        """Run a work in a transaction, among the writes of that company."""
        raise NotImplementedError

    async def _await_peers(self) -> None:
        """Wait until every other daemon knows the change that was just committed."""

    def _not_read(self, event: str, detail: str, kind: str) -> None:
        _log.error(event, detail=detail)
        if self._metrics is not None:
            self._metrics.store_failure(kind)

    # accounts

    account_by_email = read(accounts.account_by_email)
    account = read(accounts.account)

    async def register(self, account: Account, receipt: Receipt | None, logged: Sequence[Logged] = ()) -> None:
        at = text(self._clock())
        await self._write(account.company.id, lambda db: accounts.register(db, account, receipt, at, logged))

    async def revoke(self, token_id: str, expires_at: datetime, logged: Logged | None = None) -> None:
        company_id = "" if logged is None else logged.company_id
        await self._write(company_id, lambda db: accounts.revoke(db, token_id, expires_at, logged))
        await self._await_peers()

    async def revoked(self) -> dict[str, datetime]:
        at = text(self._clock())
        return await self._read(lambda db: accounts.revoked(db, at))

    async def drop_revocations(self, before: datetime) -> None:
        await self._write("", lambda db: accounts.drop_revocations(db, text(before)))

    # company log

    last_logged = read(company_log.last_logged)
    log = write(company_log.log)
    log_after = write(company_log.log_after)

    # connectors

    connectors_of = read(connectors.connectors_of)
    connector_changes = read(connectors.connector_changes)
    company_key = read(connectors.company_key)
    company_keys = read(connectors.company_keys)
    add_company_key = write(connectors.add_company_key)

    async def put_connector(self, stored: StoredConnector, change: ConnectorChange) -> None:
        await self._write(stored.company_id, lambda db: connectors.put_connector(db, stored, change))
        await self._await_peers()

    async def delete_connector(self, change: ConnectorChange) -> bool:
        deleted = await self._write(change.company_id, lambda db: connectors.delete_connector(db, change))
        await self._await_peers()
        return deleted

    async def rewrap_company_keys(self, keys: Sequence[CompanyKey]) -> None:
        await self._write("", lambda db: connectors.rewrap_company_keys(db, keys))

    # receipts, templates

    receipt = read(receipts.receipt)
    template_document = read(templates.template_document)

    async def add_receipt(self, receipt: Receipt) -> None:
        at = text(self._clock())
        await self._write(receipt.company_id, lambda db: receipts.add_receipt(db, receipt, at))

    async def keep_receipt(self, receipt: Receipt) -> None:
        at = text(self._clock())
        await self._write(receipt.company_id, lambda db: receipts.keep_receipt(db, receipt, at))

    async def drop_receipts(self, before: datetime) -> int:
        drop = partial(receipts.drop_receipts, before=text(before))
        return await drop_all(lambda: self._write("", drop))

    async def keep_template(self, document: TemplateDocument) -> None:
        await self._write("", lambda db: templates.keep_template(db, document))

    # runs, evidence

    history = read(runs.history)
    unfinished = read(runs.unfinished)
    needs_recovery = read(runs.needs_recovery)
    parked = read(runs.parked)
    unsealed = read(audit.unsealed)
    checkpoints = read(audit.checkpoints)
    proven = read(audit.proven)
    entries = read(audit.entries)
    logged = read(audit.logged)

    # webhooks

    log_end = read(event_log.log_end)
    read_after = read(event_log.read_after)
    webhook = read(webhooks.webhook)
    webhooks_of = read(webhooks.webhooks_of)
    enabled_webhooks = read(webhooks.enabled_webhooks)
    webhook_queue = read(webhooks.webhook_queue)
    deliveries = read(webhooks.deliveries)
    put_webhook = write(webhooks.put_webhook)
    delete_webhook = write(webhooks.delete_webhook)
    enqueue = write(webhooks.enqueue)
    settle_delivery = write(webhooks.settle_delivery)
    redeliver = write(webhooks.redeliver)

    async def add_webhook(self, webhook: Webhook, logged: Logged, receipt: Receipt | None) -> None:
        at = text(self._clock())
        await self._write(webhook.company_id, lambda db: webhooks.add_webhook(db, webhook, logged, receipt, at))

    async def drop_deliveries(self, before: datetime) -> int:
        drop = partial(webhooks.drop_deliveries, before=text(before))
        return await drop_all(lambda: self._write("", drop))

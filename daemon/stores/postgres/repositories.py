"""The part of the PostgreSQL store that keeps accounts, connectors, companies' keys, receipts and templates."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from daemon.stores.group_commit import drop_all
from daemon.stores.postgres import accounts, connectors
from daemon.stores.postgres.changes import drop_rates
from daemon.stores.postgres.ownership import PostgresSharing
from daemon.stores.rows import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.ports import Receipt
    from daemon.model import Account, CompanyKey, ConnectorChange, StoredConnector, TemplateDocument
    from daemon.model.audit_events import Logged


class PostgresKeeping(PostgresSharing):
    """What the store has of this."""

    async def register(self, account: Account, receipt: Receipt | None, logged: Sequence[Logged] = ()) -> None:
        """Keep a new company with its first user; EmailTaken when the address has an account."""
        at = text(self._clock())
        await self._write(account.company.id, lambda db: accounts.register(db, account, receipt, at, logged))

    async def account_by_email(self, email: str) -> Account | None:
        """The account of an e-mail address, whatever its case."""
        return await self._read(lambda db: accounts.account_by_email(db, email))

    async def account(self, user_id: str) -> Account | None:
        """The account of a user."""
        return await self._read(lambda db: accounts.account(db, user_id))

    async def revoke(self, token_id: str, expires_at: datetime, logged: Logged | None = None) -> None:
        """Remember that a token no longer counts, until it would have expired; when this returns all daemons know."""
        company_id = "" if logged is None else logged.company_id
        await self._write(company_id, lambda db: accounts.revoke(db, token_id, expires_at, logged))
        await self._heard()

    async def revoked(self) -> dict[str, datetime]:
        """The revoked tokens that have not expired yet, and when each will."""
        rows = await self._read(lambda db: accounts.revoked(db, text(self._clock())))
        return {token_id: datetime.fromisoformat(expires_at) for token_id, expires_at in rows}

    async def drop_revocations(self, before: datetime) -> None:
        """Drop the revocations of tokens that expired before that time."""
        await self._write("", lambda db: accounts.drop_revocations(db, text(before)))

    async def put_connector(self, stored: StoredConnector, change: ConnectorChange) -> None:
        """Keep a connector in place of any earlier one, and its change; StoreFailed when the number is taken."""
        await self._write(stored.company_id, lambda db: connectors.put_connector(db, stored, change))
        await self._heard()

    async def delete_connector(self, change: ConnectorChange) -> bool:
        """Forget the connector that the change names and keep the change; False, and nothing kept, without one."""
        deleted = await self._write(change.company_id, lambda db: connectors.delete_connector(db, change))
        await self._heard()
        return deleted

    async def connectors_of(self, company_id: str) -> Sequence[StoredConnector]:
        """A company's connectors by tool-id, in order."""
        return await self._read(lambda db: connectors.connectors_of(db, company_id))

    async def connector_changes(
        self, company_id: str, tool_id: str, before: int | None, limit: int
    ) -> Sequence[ConnectorChange]:
        """At most `limit` changes of a tool's connector, newest first, those with a number below `before`."""
        asked = company_id, tool_id, before, limit
        return await self._read(lambda db: connectors.connector_changes(db, *asked))

    async def company_key(self, company_id: str) -> CompanyKey | None:
        """A company's key."""
        return await self._read(lambda db: connectors.company_key(db, company_id))

    async def add_company_key(self, key: CompanyKey) -> CompanyKey:
        """Keep a company's key unless it has one; returns the one that counts."""
        return await self._write(key.company_id, lambda db: connectors.add_company_key(db, key))

    async def company_keys(self, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
        """At most `limit` keys that are not wrapped by the key of that id, by company behind the company `after`."""
        return await self._read(lambda db: connectors.company_keys(db, not_by, after, limit))

    async def rewrap_company_keys(self, keys: Sequence[CompanyKey]) -> None:
        """Put other wrappings in place of the earlier ones, all or none."""
        await self._write("", lambda db: connectors.rewrap_company_keys(db, keys))

    async def receipt(self, company_id: str, path: str, key: str) -> Receipt | None:
        """The receipt kept under that key."""
        return await self._read(lambda db: accounts.receipt(db, company_id, path, key))

    async def add_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt; ReceiptTaken when there is any under its key."""
        at = text(self._clock())
        await self._write(receipt.company_id, lambda db: accounts.add_receipt(db, receipt, at))

    async def keep_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt, or complete the unanswered one under the same key; ReceiptTaken when it is answered."""
        at = text(self._clock())
        await self._write(receipt.company_id, lambda db: accounts.keep_receipt(db, receipt, at))

    async def drop_receipts(self, before: datetime) -> int:
        """Drop the receipts kept before that time, a bounded number at a time; returns how many."""
        await self._write("", drop_rates)
        drop = partial(accounts.drop_receipts, before=text(before))
        return await drop_all(lambda: self._write("", drop))

    async def keep_template(self, document: TemplateDocument) -> None:
        """Keep a template; SchemaMismatch when its vertical and version are taken by another digest."""
        await self._write("", lambda db: accounts.keep_template(db, document))

    async def template_document(self, digest: str) -> TemplateDocument | None:
        """The template of that digest."""
        return await self._read(lambda db: accounts.template_document(db, digest))

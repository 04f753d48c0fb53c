"""Instances of the Agent Approval Protocol, with their keys and with where they are told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daemon.stores.tables.agents.actions import INSTANCES
from daemon.stores.tables.company_log import log
from daemon.stores.tables.event_log import log_end
from daemon.stores.tables.people import credentials
from daemon.stores.tables.receipts import add_receipt
from daemon.stores.tables.webhooks import WEBHOOKS, delete_webhook, put_webhook

if TYPE_CHECKING:
    from actors.ports import Receipt
    from daemon.model.actions import StoredInstance
    from daemon.model.people.credentials import AddedKey
    from daemon.model.webhooks import WebhookReplaced
    from daemon.stores.database import Database


async def instance(db: Database, company_id: str, instance_id: str) -> StoredInstance | None:
    """The instance of an id, perhaps a deleted one."""
    row = await db.row(f"{INSTANCES.select} WHERE company_id = $1 AND id = $2", company_id, instance_id)
    return None if row is None else INSTANCES.from_row(row)


async def add_instance(
    db: Database,
    one: StoredInstance,
    added: AddedKey,
    webhook: WebhookReplaced | None,
    receipt: Receipt | None,
    *,
    at: str,
) -> None:
    """Add an instance with its key and its webhook, unless the company has too many keys."""
    await credentials.add_api_key(db, added.key, added.logged, receipt, at=at, most=added.most)
    await INSTANCES.insert(db, one)
    await _replace(db, webhook)


async def change_instance(
    db: Database, one: StoredInstance, webhook: WebhookReplaced | None, receipt: Receipt | None, *, at: str
) -> None:
    """Write an instance anew; its webhook becomes another, or none."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    await INSTANCES.put(db, one)
    await _replace(db, webhook)


async def _replace(db: Database, webhook: WebhookReplaced | None) -> None:
    if webhook is None:
        return
    before, after, logged = webhook
    if after is None and before is not None:
        await delete_webhook(db, *before.key, logged)
    elif after is not None and before is not None:
        await put_webhook(db, after, logged)
    elif after is not None:
        await log(db, logged)
        await WEBHOOKS.insert(db, replace(after, cursor=await log_end(db, after.company_id)))

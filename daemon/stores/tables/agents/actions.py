"""What agents do and are served by: actions, budgets, joins, servers, and instances of AAP."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import convert

from actors.core.actions.deciding import SCALE, Spent
from daemon.model.actions import (
    HOLD_LASTS,
    ActionDocument,
    ActionJoin,
    ActionRow,
    BudgetHold,
    HoldOutcome,
    Joined,
    McpServerChange,
    StoredInstance,
    StoredMcpServer,
)
from daemon.model.audit_events import Logged, McpServerChanged, McpServerLogged
from daemon.model.chain import digest
from daemon.model.pages import Page
from daemon.runtime.json_codec import dumps
from daemon.stores.rows import below, bounded, iso
from daemon.stores.table import Table
from daemon.stores.tables.company_log import log
from daemon.stores.tables.event_log import log_end
from daemon.stores.tables.open_gates import RESERVED
from daemon.stores.tables.people import credentials
from daemon.stores.tables.reading import visible
from daemon.stores.tables.receipts import add_receipt
from daemon.stores.tables.webhooks import WEBHOOKS, delete_webhook, put_webhook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from actors.ports import Receipt
    from daemon.model.actions import ActionQuery
    from daemon.model.people.credentials import AddedKey
    from daemon.model.reading import Sight
    from daemon.model.webhooks import WebhookReplaced
    from daemon.stores.database import Database

ACTIONS = Table("actions", ActionRow, ("company_id", "run_id"), beside=("taken_at", "held_at"))
HOLDS = Table("action_holds", BudgetHold, ("company_id", "rule", "scope", "run_id"))
JOINS = Table("action_joins", ActionJoin, ("company_id", "agent_id", "fingerprint"))
DOCUMENTS = Table("action_templates", ActionDocument, ("company_id", "digest"))
INSTANCES = Table("aap_instances", StoredInstance, ("company_id", "key_id"))
SERVERS = Table("mcp_servers", StoredMcpServer, ("company_id", "name"), json=("tools",))
SERVER_CHANGES = Table(
    *("mcp_server_changes", McpServerChange, ("company_id", "name", "number")),
    json=("before", "after"),
    absent=("by_kind", "caller"),
    noted="noted_at",
)
_SERVER_CHANGES = (
    f"{SERVER_CHANGES.select} WHERE company_id = $1 AND name = $2 AND number < $3 ORDER BY number DESC LIMIT $4"
)
DROP_MAX = 1_000

ACTION = ", ".join(ACTIONS.columns)
AFTER = "ON CONFLICT (company_id, run_id) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in ACTIONS.columns if name not in ACTIONS.key
)


def _spent(of: str) -> str:
    """What is spent by the actions `of` an agent or all, and held by those that have not begun.

    One statement, so that a hold that becomes an action meanwhile counts once. Amounts are added
    in two parts: a sum of SQLite is of 64 bits.
    """
    return (
        f"SELECT count(*), CAST(coalesce(sum(amount / {SCALE}), 0) AS bigint), "
        f"CAST(coalesce(sum(amount % {SCALE}), 0) AS bigint) FROM (SELECT amount FROM actions "
        f"WHERE company_id = $1 AND rule = $2 AND spent_at IS NOT NULL AND spent_at > $4{of} UNION ALL "
        "SELECT amount FROM action_holds WHERE company_id = $1 AND rule = $2 AND scope = $3 AND held_at > $5) AS found"
    )


_SPENT, _SPENT_BY_AGENT = _spent(""), _spent(" AND agent = $3")
_HAS = (
    "SELECT 1 FROM action_holds WHERE company_id = $1 AND run_id = $2 "
    "UNION ALL SELECT 1 FROM actions WHERE company_id = $1 AND run_id = $2"
)
_OLD = f"SELECT {', '.join(HOLDS.key)} FROM action_holds WHERE held_at < $1 ORDER BY held_at LIMIT {DROP_MAX}"
_JOINED = (
    "SELECT action_joins.run_id, reserved_at, status, request FROM action_joins LEFT JOIN actions "
    "ON actions.company_id = action_joins.company_id AND actions.run_id = action_joins.run_id "
    "WHERE action_joins.company_id = $1 AND action_joins.agent_id = $2 AND action_joins.fingerprint = $3"
)
_TAKE = "DELETE FROM action_joins WHERE company_id = $1 AND agent_id = $2 AND fingerprint = $3 AND run_id = $4"
_TAKEN = "UPDATE actions SET taken_at = $3 WHERE company_id = $1 AND run_id = $2"
_HOLD = "UPDATE actions SET held_at = $3 WHERE company_id = $1 AND run_id = $2"
_RELEASE = "UPDATE actions SET held_at = NULL WHERE company_id = $1 AND run_id = $2 AND held_at IS NOT NULL"
_HELD = "SELECT 1 FROM actions WHERE company_id = $1 AND run_id = $2 AND held_at IS NOT NULL"
_ENDED = ("completed", "failed", "cancelled")
_LAPSED = (
    "SELECT action_joins.company_id, action_joins.agent_id, action_joins.fingerprint, action_joins.run_id "
    "FROM action_joins LEFT JOIN actions "
    "ON actions.company_id = action_joins.company_id AND actions.run_id = action_joins.run_id "
    "WHERE action_joins.agent_id = '' AND reserved_at < $1 "
    f"AND (status IS NULL OR status IN {_ENDED}) ORDER BY reserved_at LIMIT {DROP_MAX}"
)
_CLAIMED = (
    "SELECT action_joins.run_id, reserved_at, status, request, (SELECT run_id FROM actions WHERE company_id = $1 "
    "AND fingerprint = $3 AND outcome = 'unknown' ORDER BY run_id DESC LIMIT 1) FROM (SELECT 1) AS one "
    "LEFT JOIN action_joins ON action_joins.company_id = $1 AND action_joins.agent_id = $2 "
    "AND action_joins.fingerprint = $3 LEFT JOIN actions ON actions.company_id = $1 "
    "AND actions.run_id = action_joins.run_id"
)
"""Who has claimed a call, and the newest action by which it may have happened: one row."""
_HITS = (
    "SELECT rule, decision, count(*) FROM actions WHERE company_id = $1 AND created_at > $2{seen} "
    "GROUP BY rule, decision"
)
_DOCUMENT = "SELECT document FROM action_templates WHERE company_id = $1 AND digest = $2"


def action_json(one: ActionRow) -> str:
    """The row as the append of PostgreSQL takes it."""
    return dumps(ACTIONS.values(one)).decode()


async def put_action(db: Database, one: ActionRow) -> None:
    """Write the row anew of a run that was changed otherwise than by a commit."""
    await ACTIONS.put(db, one)


async def action(db: Database, company_id: str, run_id: str) -> ActionRow | None:
    row = await db.row(f"{ACTIONS.select} WHERE company_id = $1 AND run_id = $2", company_id, run_id)
    return None if row is None else ACTIONS.from_row(row)


async def actions(db: Database, company_id: str, query: ActionQuery) -> Page[ActionRow]:
    asked = {
        "run_id < ${}": query.before,
        "agent = ${}": query.agent,
        "agent_id = ${}": query.agent_id,
        "tool = ${}": query.tool,
        "server = ${}": query.server,
        "status = ${}": query.status,
        "outcome = ${}": query.outcome,
        "rule = ${}": query.rule,
        "context_key = ${}": query.context_key,
    }
    given = [(condition, value) for condition, value in asked.items() if value is not None]
    where = "".join(f" AND {condition.format(number)}" for number, (condition, _) in enumerate(given, 3))
    seen, more = visible(db.dialect, query.sight, 3 + len(given), "actions.run_id")
    rows = await db.rows(
        f"{ACTIONS.select} WHERE company_id = $1{where}{seen} ORDER BY run_id DESC LIMIT $2",
        *(company_id, bounded(query.limit), *(value for _, value in given), *more),
    )
    return Page(map(ACTIONS.from_row, rows))


async def rule_hits(
    db: Database, company_id: str, since: datetime, sight: Sight | None = None
) -> Mapping[str, Mapping[str, int]]:
    """How often each rule decided how since a time, by rule and decision."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    seen, more = visible(db.dialect, sight, 3, "actions.run_id")
    for rule, decision, count in await db.rows(_HITS.format(seen=seen), company_id, iso(since), *more):
        found[rule][decision] = count
    return found


async def budget_spent(
    db: Database, company_id: str, rule: str, scope: str, since: datetime, *, now: datetime
) -> Spent:
    """What was spent of a budget since a time, and is held of it now."""
    values = (company_id, rule, scope, iso(since), iso(now - HOLD_LASTS))
    count, whole, rest = await db.row(_SPENT_BY_AGENT if scope else _SPENT, *values) or (0, 0, 0)
    return Spent(count, int(whole) * SCALE + int(rest))


async def hold_budget(
    db: Database, hold: BudgetHold, since: datetime, most: int, expected: Spent | None = None
) -> HoldOutcome:
    """Hold an amount of a budget, unless that would pass `most`; a run holds once.

    Neither where something else was `expected` to be spent: a condition may have read it.
    """
    await _lock(db, "budget", hold.company_id, hold.rule, hold.scope)
    spent = await budget_spent(db, hold.company_id, hold.rule, hold.scope, since, now=hold.held_at)
    if await db.row(_HAS, hold.company_id, hold.run_id) is not None:
        return HoldOutcome(held=True, spent=spent)
    stale = expected is not None and (spent.count, spent.sum) != (expected.count, expected.sum)
    if stale or spent.sum + hold.amount > most:
        return HoldOutcome(held=False, spent=spent)
    await HOLDS.insert(db, hold)
    return HoldOutcome(held=True, spent=spent)


async def give_back(db: Database, company_id: str, run_id: str) -> None:
    """Give back what is held for a run that does not begin."""
    await db.execute("DELETE FROM action_holds WHERE company_id = $1 AND run_id = $2", company_id, run_id)


async def drop_holds(db: Database, now: datetime) -> int:
    """Give back what is held for runs that never began, at most so many; returns how many."""
    rows = await db.rows(_OLD, iso(now - HOLD_LASTS))
    where = " AND ".join(f"{name} = ${number}" for number, name in enumerate(HOLDS.key, 1))
    await db.execute_each(f"DELETE FROM action_holds WHERE {where}", rows)
    return len(rows)


async def hold_call(db: Database, company_id: str, run_id: str, at: datetime) -> None:
    """Note that the call of an action is held, and was not sent."""
    await db.execute(_HOLD, company_id, run_id, iso(at))


async def release_call(db: Database, company_id: str, run_id: str) -> bool:
    """Let a call go that is held; False where another daemon did, which may have sent it."""
    return await db.execute(_RELEASE, company_id, run_id) == 1


async def call_held(db: Database, company_id: str, run_id: str) -> bool:
    """Whether the call of an action is held, so that it was not sent."""
    return await db.row(_HELD, company_id, run_id) is not None


async def drop_joins(db: Database, now: datetime) -> int:
    """Drop the claims of anybody on calls that are over, at most so many; returns how many."""
    rows = await db.rows(_LAPSED, iso(now - HOLD_LASTS))
    await db.execute_each(_TAKE, rows)
    return len(rows)


async def join_action(db: Database, join: ActionJoin) -> str | None:
    """Claim a call for a run; returns the run that has it already.

    An agent's claim lasts until its result is taken, one of anybody until the run has ended.
    """
    found = await _claim(db, join, doubts=False)
    return None if found.own else found.run_id


async def claim_call(db: Database, join: ActionJoin) -> Joined:
    """The same; until it has begun, a repeat of the request that claimed a call has its run.

    None is claimed while the same call may have happened.
    """
    return await _claim(db, join, doubts=True)


async def _claim(db: Database, join: ActionJoin, *, doubts: bool) -> Joined:
    key = (join.company_id, join.agent_id, join.fingerprint)
    await _lock(db, "join", *key)
    claimed, reserved_at, status, request, doubtful = await db.row(_CLAIMED, *key) or (None,) * 5
    if doubts and doubtful is not None:
        return Joined(str(doubtful), own=False, doubtful=True)
    if claimed == join.run_id:  # to ask for it again makes it last no longer
        return Joined(join.run_id, own=True)
    if claimed is not None and _lasts(reserved_at, status, join):
        return Joined(str(claimed), own=status is None and request == join.request != "")
    await JOINS.put(db, join)
    return Joined(join.run_id, own=True)


def _lasts(reserved_at: str, status: str | None, join: ActionJoin) -> bool:
    if status is None:
        return reserved_at > iso(join.reserved_at - RESERVED)
    return bool(join.agent_id) or status not in _ENDED


async def joined_action(db: Database, company_id: str, agent_id: str, fingerprint: str, now: datetime) -> str | None:
    """The action that the same call joins; a claim without a run lapses."""
    row = await db.row(_JOINED, company_id, agent_id, fingerprint)
    return None if row is None or (row[2] is None and row[1] <= iso(now - RESERVED)) else str(row[0])


async def take_action(
    db: Database, company_id: str, agent_id: str, fingerprint: str, *, run_id: str, at: datetime
) -> bool:
    """Take the result of an action for the same call: once."""
    if await db.execute(_TAKE, company_id, agent_id, fingerprint, run_id) != 1:
        return False
    await db.execute(_TAKEN, company_id, run_id, iso(at))
    return True


async def keep_action_template(db: Database, document: ActionDocument) -> None:
    """Keep the document of a rule, if it is not kept already."""
    await DOCUMENTS.insert_new(db, [document])


async def action_template(db: Database, company_id: str, digest: str) -> str | None:
    found: str | None = await db.value(_DOCUMENT, company_id, digest)
    return found


async def put_server(db: Database, stored: StoredMcpServer, change: McpServerChange) -> None:
    sealed = stored.sealed_secret
    await _server_changed(db, change, None if sealed is None else digest(sealed))
    await SERVERS.put(db, stored)


async def delete_server(db: Database, change: McpServerChange) -> bool:
    statement = "DELETE FROM mcp_servers WHERE company_id = $1 AND name = $2"
    if await db.execute(statement, change.company_id, change.name) != 1:
        return False
    await _server_changed(db, change)
    return True


async def servers_of(db: Database, company_id: str) -> Sequence[StoredMcpServer]:
    """The servers of a company by name, in order."""
    rows = await db.rows(f"{SERVERS.select} WHERE company_id = $1 ORDER BY name", company_id)
    return [SERVERS.from_row(row) for row in rows]


async def server_changes(
    db: Database, company_id: str, name: str, before: int | None, limit: int
) -> Page[McpServerChange]:
    """At most `limit` changes of a server below number `before`, newest first."""
    rows = await db.page(_SERVER_CHANGES, company_id, name, below(before), bounded(limit))
    page = Page(map(SERVER_CHANGES.from_row, rows))
    page.more, page.size = rows.more, rows.size
    return page


async def _server_changed(db: Database, change: McpServerChange, secret_digest: str | None = None) -> None:
    before, after = (None if one is None else convert(one, McpServerLogged) for one in (change.before, change.after))
    event = McpServerChanged(
        at=change.at,
        by=change.by,
        by_kind=change.by_kind,
        before=before,
        after=after,
        number=change.number,
        secret=change.secret,
        secret_digest=secret_digest,
        server=change.name,
        version=change.version,
        via=change.via,
    )
    await SERVER_CHANGES.insert(db, change)
    await log(db, Logged(change.company_id, event, caller=change.caller))


async def _lock(db: Database, *names: Any) -> None:
    """Keep others off the same until the end of the transaction; SQLite has one writer."""
    if db.dialect == "postgres":
        await db.value("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "\x1f".join(names))


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
    logged: Logged,
    at: str,
) -> None:
    """Add an instance with its key and its webhook, unless the company has too many keys."""
    await credentials.add_api_key(db, added.key, added.logged, receipt, at=at, most=added.most)
    await log(db, logged)
    await INSTANCES.insert(db, one)
    await _replace(db, webhook)


async def change_instance(
    db: Database,
    one: StoredInstance,
    webhook: WebhookReplaced | None,
    receipt: Receipt | None,
    *,
    logged: Logged,
    at: str,
) -> None:
    """Write an instance anew; its webhook becomes another, or none."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    await log(db, logged)
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

"""What the columns of a row hold, in whichever database: records as rows, and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from daemon.model import Account, Company, CompanyKey, ConnectorChange, StoredConnector, User
from daemon.model.chain import HistoryBroken, Walk, genesis
from daemon.model.event_log import CompanyEvent, Position
from daemon.model.evidence import Checkpoint
from daemon.model.webhooks import Delivery, Webhook
from daemon.stores import codec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.core.run import Run
    from actors.ports import Receipt
    from daemon.model import RunQuery

INTEGER_MAX = 2**63 - 1
GATED = ("parked", "failed")
"""The statuses of runs that may have an open gate."""


def text(at: datetime) -> str:
    """A time as it is stored, so that it sorts."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def text_or_null(at: datetime | None) -> str | None:
    """A time as it is stored, if there is one."""
    return None if at is None else text(at)


def time_or_none(at: str | None) -> datetime | None:
    """The time that is stored so, if there is one."""
    return None if at is None else datetime.fromisoformat(at)


def bounded(limit: int) -> int:
    """What a LIMIT can be; to SQLite a negative one means none."""
    return max(0, min(limit, INTEGER_MAX))


def below(before: int | None) -> int:
    """What the numbers of a page are below: what the page before ended with, or anything."""
    return INTEGER_MAX if before is None else min(before, INTEGER_MAX)


def statuses(query: RunQuery) -> tuple[str | None, ...]:
    """The statuses of the runs that a query asks for; None for any."""
    return GATED if query.status is None and query.parked_at is not None else (query.status,)


def standing_row(run: Run) -> tuple[int, bool, str, str, str, str, str]:
    """What the row of a run says of it: version, resting, status, parked, updated_at, vertical, created_at."""
    return run.version, run.resting, *reached(run), run.vertical, text(run.created_at)


def reached(run: Run) -> tuple[str, str, str]:
    """Where a run has come to, as its row says it: status, parked, updated_at."""
    parked = [visit.step_id for visit in run.parked]
    return run.status, "|".join(("", *parked, "")) if parked else "", text(run.updated_at)


def receipt_row(receipt: Receipt, at: str) -> tuple[Any, ...]:
    """A receipt as a row."""
    key = (receipt.company_id, receipt.path, receipt.key)
    return (*key, receipt.fingerprint, receipt.run_id, receipt.status, receipt.headers, receipt.body, at)


def account_of_row(row: tuple[Any, ...] | None) -> Account | None:
    """The account that a row of users and companies holds, if there is one."""
    if row is None:
        return None
    user_id, company_id, email, name, role, password_hash, joined_at, company_name, founded_at = row
    user = User(user_id, company_id, email, name, role, password_hash, datetime.fromisoformat(joined_at))
    return Account(user, Company(company_id, company_name, datetime.fromisoformat(founded_at)))


def key_of_row(row: tuple[Any, ...]) -> CompanyKey:
    """The wrapped key of a company that a row holds."""
    company_id, key_id, wrapped, created_at = row
    return CompanyKey(company_id, key_id, wrapped, datetime.fromisoformat(created_at))


def connector_of_row(company_id: str, connector: bytes, sealed: bytes | None, *rest: str) -> StoredConnector:
    """A connector as its row has it; the rest is when it was made and changed, and by whom."""
    made_at, changed_at, by = rest
    times = datetime.fromisoformat(made_at), datetime.fromisoformat(changed_at)
    return StoredConnector(company_id, codec.decode_connector(connector), sealed, *times, by)


def change_of_row(row: tuple[Any, ...]) -> ConnectorChange:
    """The change of a connector that a row holds."""
    company_id, tool_id, number, version, at, by, secret, before, after, via = row
    return ConnectorChange(
        company_id=company_id,
        tool_id=tool_id,
        number=number,
        version=version,
        at=datetime.fromisoformat(at),
        by=by,
        secret=secret,
        before=codec.decode_state(before),
        after=codec.decode_state(after),
        via=via,
    )


def checkpoint_row(one: Checkpoint) -> tuple[Any, ...]:
    """A checkpoint as a row."""
    return (one.company, one.size, one.at, one.key_id, one.previous, one.root, one.signature)


def checkpoint_of_row(row: tuple[Any, ...]) -> Checkpoint:
    """The checkpoint that a row holds."""
    at, company, key_id, previous, root, signature, size = row
    return Checkpoint(
        at=at, company=company, key_id=key_id, previous=previous, root=root, signature=signature, size=size
    )


def events_of_row(company_id: str, row: tuple[Any, ...]) -> Iterator[CompanyEvent]:
    """The events of a commit, its chain checked; behind the columns of the commit comes the head before it."""
    position, run_id, first, version, head, exact, events, before = row
    if first == 1:
        before = genesis(company_id, run_id)
    if before is None:
        raise HistoryBroken(run_id, first - 1, "the commit before is missing or has no head")
    Walk(run_id, before, first - 1).take(first, version, head, events)
    for nth, event in enumerate(codec.decode_events(events, exact), 1):
        yield CompanyEvent(Position(position, nth), run_id, first + nth - 1, event)


def types(webhook: Webhook) -> str | None:
    """The types of events that a webhook is told of, as they are stored; NULL for all."""
    return None if webhook.events is None else json.dumps(webhook.events)


def webhook_of_row(row: tuple[Any, ...]) -> Webhook:
    """The webhook that a row holds."""
    company_id, webhook_id, url, events, description, sealed, created_at, updated_at, by, *state = row
    enabled, reason, failures, *cursor = state
    return Webhook(
        company_id=company_id,
        id=webhook_id,
        url=url,
        events=None if events is None else tuple(json.loads(events)),
        description=description,
        sealed_secret=sealed,
        created_at=datetime.fromisoformat(created_at),
        updated_at=datetime.fromisoformat(updated_at),
        updated_by=by,
        enabled=bool(enabled),
        reason=reason,
        failures=failures,
        cursor=Position(*cursor),
    )


def delivery_of_row(row: tuple[Any, ...]) -> Delivery:
    """The delivery that a row holds."""
    company_id, webhook_id, number, message, position, nth, run_id, seq, kind, created_at, *state = row
    status, attempts, tries, next_at, last_at, status_code, latency_ms, error = state
    return Delivery(
        company_id=company_id,
        webhook_id=webhook_id,
        number=number,
        id=message,
        place=Position(position, nth),
        run_id=run_id,
        seq=seq,
        type=kind,
        created_at=datetime.fromisoformat(created_at),
        status=status,
        attempts=attempts,
        tries=tries,
        next_at=time_or_none(next_at),
        last_at=time_or_none(last_at),
        status_code=status_code,
        latency_ms=latency_ms,
        error=error,
    )

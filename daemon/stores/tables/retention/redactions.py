"""Redaction: the one transaction that takes values out of the events of a run, and says so."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from daemon.model.actions import action_row
from daemon.model.audit_events import Logged
from daemon.model.events.company import RunRedacted
from daemon.model.retention.records import NotRedactable, RedactionMade, StoredRedaction
from daemon.model.retention.redaction import RedactionOutcome, StoredLines, redacted
from daemon.stores.rows import iso, run_row, run_timer
from daemon.stores.tables import runs
from daemon.stores.tables.agents.actions import put_action
from daemon.stores.tables.archives import OF_RUN, REDACTIONS, retained
from daemon.stores.tables.company_log import log
from daemon.stores.tables.lists import search
from daemon.stores.tables.receipts import add_receipt
from daemon.stores.tables.retention.archiving import FREE, SNAPSHOT, WORDS, seal_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import datetime

    from actors.core.run import Run
    from actors.ports import Receipt
    from daemon.model.evidence import Sign
    from daemon.model.retention.records import Retained
    from daemon.stores.database import Database, Key, Row

_STANDS = "SELECT version FROM runs WHERE company_id = $1 AND id = $2"
_COMMITS = f"SELECT version, first_seq, mac, exact, events, position FROM commits WHERE {OF_RUN} ORDER BY version"
_REWRITE = f"UPDATE commits SET events = $4, exact = $5, mac = $6 WHERE {OF_RUN} AND version = $3"
_KEY = "UPDATE runs SET business_key = $3 WHERE company_id = $1 AND id = $2"
_RESERVED = f"DELETE FROM business_keys WHERE {OF_RUN}"
_RECEIPTS = (
    "SELECT path, key FROM receipts WHERE {} AND (run_id = $2 OR (path >= $3 AND path < $4)) AND created_at >= $5"
)
_OF_COMPANY, _LATELY = "company_id = $1", "company_id || '' = $1"
"""The second one leaves the index of the company's receipts aside, for that of all by age."""
LATELY = timedelta(minutes=2)
# A repeat under the same key is refused as one with another body: it must not start another run.
_EMPTY = (
    "UPDATE receipts SET fingerprint = $4, headers = '{}', body = $4, status = 410 "
    "WHERE company_id = $1 AND path = $2 AND key = $3"
)


async def receipts_of(db: Database, company_id: str, run_id: str, since: datetime | None = None) -> Sequence[Row]:
    """The receipts that say something of a run: of all of the company's, or of the last ones."""
    path = f"/process-runs/{run_id}"
    statement = _RECEIPTS.format(_OF_COMPANY if since is None else _LATELY)
    return await db.rows(statement, company_id, run_id, f"{path}/", f"{path}0", "" if since is None else iso(since))


class RedactionPlan(NamedTuple):
    """What a redaction makes of a run that is kept as it was read, and the receipts of that run."""

    kept: Retained
    rows: Sequence[Row]
    run: Run
    one: RedactionOutcome
    receipts: Sequence[Row]


async def plan(db: Database, asked: StoredRedaction) -> RedactionPlan:
    """Work a redaction out, which can take long; NotRedactable where none may be."""
    key = (asked.company_id, asked.run_id)
    kept, version = await retained(db, *key), await db.value(_STANDS, *key)
    if kept.hold is not None:
        raise NotRedactable("The run is under legal hold: release it first.")
    found = await runs.commits(db, key, 0, version)
    run = runs.fold(key, version, None, (events for _, _, events in found))
    if run.ended is None:
        raise NotRedactable("The run has not ended, and needs its values until then.")
    rows = await db.rows(_COMMITS, *key)
    lines = [StoredLines(version, first, events, exact) for version, first, _, exact, events, _ in rows]
    marks = frozenset(one.placeholder for one in kept.redactions)
    one = await db.run_by_size(
        key[0], found.size, lambda: redacted(lines, asked.pointers, asked.reason, asked.placeholder, marks)
    )
    return RedactionPlan(kept, rows, run, one, await receipts_of(db, *key))


async def redact(
    db: Database,
    asked: StoredRedaction,
    via: str,
    sign: Sign | None,
    *,
    receipt: Callable[[RedactionMade], Receipt | None],
    planned: RedactionPlan,
) -> RedactionMade:
    """Redact values of a run; without `sign` only tell what would be redacted.

    What was planned is worked out again where the run has changed since.
    """
    key = (asked.company_id, asked.run_id)
    await db.next_position(asked.company_id, 0)  # locks: a hold, an archive and late outcomes come before or after
    if (await retained(db, *key), await db.rows(_COMMITS, *key)) != planned[:2]:
        planned = await plan(db, asked)
    async with _erasing(db):
        made = await _redact(db, key, asked, via, sign, planned=planned)
    if (kept := receipt(made)) is not None:  # after those of the run were emptied
        await add_receipt(db, kept, iso(asked.redacted_at))
    return made


async def forget_words(db: Database) -> bool:
    """Erase the next words of what was redacted in the search index; whether more are left."""
    async with _erasing(db):
        return await search.forget_words(db)


@asynccontextmanager
async def _erasing(db: Database) -> AsyncIterator[None]:
    """Write zeros over what is deleted, in SQLite."""
    if db.dialect == "sqlite":
        await db.value("PRAGMA secure_delete = ON")
    try:
        yield
    finally:
        if db.dialect == "sqlite":
            await db.value("PRAGMA secure_delete = OFF")


async def _redact(
    db: Database, key: Key, asked: StoredRedaction, via: str, sign: Sign | None, *, planned: RedactionPlan
) -> RedactionMade:
    kept, rows, run, one, receipts = planned
    if one.done:
        return RedactionMade(kept.redactions[-1])
    made = StoredRedaction(
        *key, len(kept.redactions) + 1, asked.reason, asked.redacted_at, asked.redacted_by, asked.pointers
    )
    if sign is None:
        return RedactionMade(made, tuple(one.places), tuple(one.left))
    await _rewrite(db, key, rows, one)
    await _clean(db, key, run, await _after(db, key, run))
    for path, name in {*receipts, *await receipts_of(db, *key, asked.redacted_at - LATELY)}:
        await db.execute(_EMPTY, key[0], path, name, b"")
    await REDACTIONS.insert(db, made)
    await log(db, Logged(key[0], _event(made, one, via)))
    await seal_log(db, key[0], sign)
    return RedactionMade(made, tuple(one.places), tuple(one.left))


async def _rewrite(db: Database, key: Key, rows: Sequence[tuple[object, ...]], one: RedactionOutcome) -> None:
    """Put the redacted lines in place of those that were stored."""
    stored = {row[0]: row for row in rows}
    size = 0
    for commit in one.commits:
        _, _, mac, exact, events, _ = stored[commit.version]
        assert isinstance(mac, bytes)  # noqa: S101 - it was checked when the events were read
        size += _bytes(events, exact) - _bytes(commit.events, commit.exact)
        mac = db.keys.redacted_mac(mac, commit.events)
        await db.execute(_REWRITE, *key, commit.version, commit.events, commit.exact, mac)
    last = max(row[5] for row in rows)  # type: ignore[type-var]
    await db.execute(FREE, key[0], size, "" if db.dialect == "sqlite" else key[0], last)


def _bytes(events: object, exact: object) -> int:
    return len(events) + (len(exact) if isinstance(exact, bytes) else 0) if isinstance(events, bytes) else 0


async def _after(db: Database, key: Key, before: Run) -> Run:
    """The run that the redacted events lead to; ValueError where it stands elsewhere."""
    found = await runs.commits(db, key, 0, before.version)
    run = runs.fold(key, before.version, None, (events for _, _, events in found))
    if (run_row(run), run_timer(run)) != (run_row(before), run_timer(before)):
        raise ValueError(f"{run.id} would stand elsewhere")
    return run


async def _clean(db: Database, key: Key, before: Run, run: Run) -> None:
    """Take the values out of what is derived from the events."""
    await db.execute(SNAPSHOT[db.dialect], *key)
    if await db.execute(WORDS[db.dialect], *key):
        await search.add_again(db, run)
        await search.forget_words(db, begin=True)
    if (action := action_row(run)) is not None:
        await put_action(db, action)
    if run.business_key != before.business_key:
        await db.execute(_KEY, *key, run.business_key)
        await db.execute(_RESERVED, *key)


def _event(made: StoredRedaction, one: RedactionOutcome, via: str) -> RunRedacted:
    return RunRedacted(
        at=made.redacted_at,
        by=made.redacted_by,
        left=tuple(one.left),
        number=made.number,
        places=tuple(one.places),
        pointers=made.pointers,
        reason=made.reason,
        run_id=made.run_id,
        via=via,
    )

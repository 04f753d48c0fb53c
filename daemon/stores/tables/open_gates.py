"""The inbox: open gates, claims, and business keys."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from daemon.model.inbox import Claim, GateGroup, GateKey, for_another, gate_rows, listed_people, stamp
from daemon.stores.rows import bounded, iso
from daemon.stores.tables.reading import visible
from daemon.stores.tables.receipts import add_receipt
from daemon.stores.tables.runs import PARKED

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from actors.core.run import Run
    from actors.ports import Receipt
    from daemon.model.inbox import GateFilter, GateQuery
    from daemon.stores.database import Database, Key

RESERVED = timedelta(seconds=10)
"""A run that a key was given to has begun by then, or never will."""
OPEN_GATE = "company_id, run_id, step_id, visit, vertical, tier, place, words, asked, barred, decided"
CLAIM = "company_id, run_id, step_id, visit, claimed_by, claimed_at"
BUSINESS_KEY = "company_id, vertical, key, run_id, reserved_at"
_POSITION = {"sqlite": "instr", "postgres": "strpos"}
# A place is `due|tier|opened|run|step`: the other orders leave its beginning out. What stands first
# has `!` before its times, which the newest first turn into what sorts last.
_ORDERS = {
    "urgency": "place",
    "risk": "substr(place, {at}(place, '|') + 1)",
    "oldest": "substr(place, {at}(place, '|') + 3)",
    "newest": "replace(substr(place, {at}(place, '|') + 3), '!', '~')",
}
_FOUND = {
    "sqlite": "number IN (SELECT rowid FROM gate_words WHERE gate_words MATCH ${})",
    "postgres": "found_by @@ to_tsquery('simple', ${})",
}
_ASKED = {
    "sqlite": "asked IN (SELECT value FROM json_each(${}))",
    "postgres": "asked IN (SELECT json_array_elements_text(${}::json))",
}
_GROUPS = (
    "SELECT asked, count(*), sum(CASE WHEN {at}(decided, $2) > 0 THEN 1 ELSE 0 END), "
    "sum(CASE WHEN {at}(decided, $2) > 0 OR {at}(barred, $2) > 0 THEN 1 ELSE 0 END), "
    "sum(CASE WHEN {at}(decided, $3) > 0 THEN 1 ELSE 0 END) "
    "FROM open_gates WHERE company_id = $1{where} GROUP BY asked"
)
_INDEX = (
    "INSERT INTO gate_words (rowid, words) SELECT number, words FROM open_gates "
    "WHERE number > (SELECT coalesce(max(rowid), 0) FROM gate_words) ORDER BY number LIMIT $1"
)
_UNINDEX = (
    "DELETE FROM gate_words WHERE rowid IN (SELECT rowid FROM gate_words "
    "WHERE NOT EXISTS (SELECT 1 FROM open_gates WHERE number = gate_words.rowid) LIMIT $1)"
)
_CLAIMED = (
    "SELECT run_id, step_id, visit, claimed_by, claimed_at FROM gate_claims WHERE company_id = $1 AND run_id = $2"
)
_CLAIM = (
    f"INSERT INTO gate_claims ({CLAIM}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (company_id, run_id, step_id) "
    "DO UPDATE SET visit = excluded.visit, claimed_by = excluded.claimed_by, claimed_at = excluded.claimed_at"
)
_RELEASE = "DELETE FROM gate_claims WHERE company_id = $1 AND run_id = $2 AND step_id = $3 AND visit = $4"
_TAKEN = (
    "SELECT business_keys.run_id, status, reserved_at FROM business_keys LEFT JOIN runs "
    "ON runs.company_id = business_keys.company_id AND id = run_id "
    "WHERE business_keys.company_id = $1 AND business_keys.vertical = $2 AND key = $3"
)
_UNFINISHED = (
    "SELECT id FROM runs WHERE company_id = $1 AND vertical = $2 AND business_key = $3 "
    "AND status NOT IN ('completed', 'cancelled') ORDER BY id LIMIT 1"
)
_RESERVE = (
    f"INSERT INTO business_keys ({BUSINESS_KEY}) VALUES ($1, $2, $3, $4, $5) "
    "ON CONFLICT (company_id, vertical, key) DO UPDATE SET run_id = excluded.run_id, reserved_at = excluded.reserved_at"
)
# The condition is outside: a page that only listed runs fill is short work, too.
UNLISTED = (
    "SELECT company_id, id, NOT EXISTS (SELECT 1 FROM open_gates WHERE open_gates.company_id = waiting.company_id "
    f"AND run_id = waiting.id) FROM ({PARKED}) AS waiting ORDER BY company_id, id"
)
_STANDS = "SELECT 1 FROM runs WHERE company_id = $1 AND id = $2 AND version = $3"


async def open_gates(db: Database, company_id: str, query: GateQuery) -> Sequence[GateKey]:
    if query.which.words == ():
        return []
    where, values = _where(db, query.which, 3)
    order, newest = _ORDERS[query.order].format(at=_POSITION[db.dialect]), query.order == "newest"
    if query.after is not None:
        values.append(query.after)
        where += f" AND {order} {'<' if newest else '>'} ${len(values) + 2}"
    rows = await db.rows(
        f"SELECT run_id, step_id, visit, {order} FROM open_gates WHERE company_id = $1{where} "
        f"ORDER BY 4{' DESC' if newest else ''} LIMIT $2",
        company_id,
        bounded(query.limit),
        *values,
    )
    return [GateKey(*row) for row in rows]


async def gate_groups(db: Database, company_id: str, which: GateFilter, email: str) -> Sequence[GateGroup]:
    """Count the open gates by what they ask of whoever decides, for a person."""
    if which.words == ():
        return []
    where, values = _where(db, which, 4)
    statement = _GROUPS.format(at=_POSITION[db.dialect], where=where)
    people = (_person(email), _person(for_another(email)))
    return [GateGroup(*row) for row in await db.rows(statement, company_id, *people, *values)]


def _where(db: Database, which: GateFilter, first: int) -> tuple[str, list[Any]]:
    """The conditions of a filter, and their values, whose numbers begin with `first`."""
    at = _POSITION[db.dialect]
    conditions: dict[str, Any] = {
        "vertical = ${}": which.vertical,
        "tier = ${}": which.tier,
        "run_id = ${}": which.run_id,
        "place < ${0} AND (place >= '0' OR substr(place, 2) < ${0})": _stamped(which.due_before),
        f"ltrim(substr(place, {at}(place, '|') + 3), '!') < ${{}}": _stamped(which.opened_before),
        f"{at}(decided, ${{}}) > 0": None if which.delegated is None else _person(for_another(which.delegated)),
        f"{at}(barred, ${{}}) = 0": _person(which.not_barred),
        f"{at}(decided, ${{}}) = 0": _person(which.not_decided),
        _ASKED[db.dialect]: None if which.asked is None else json.dumps(which.asked),
        _FOUND[db.dialect]: None if which.words is None else _matching(db, which.words),
    }
    asked = {condition: value for condition, value in conditions.items() if value is not None}
    where = "".join(f" AND {condition.format(number)}" for number, condition in enumerate(asked, first))
    seen, more = visible(db.dialect, which.sight, first + len(asked), "open_gates.run_id", "open_gates.vertical")
    return where + seen, [*asked.values(), *more]


def _stamped(at: datetime | None) -> str | None:
    return None if at is None else stamp(at.astimezone(UTC))


def _person(email: str | None) -> str | None:
    return None if email is None else listed_people([email])


def _matching(db: Database, words: Sequence[str]) -> str:
    """All of the words, each as the beginning of one."""
    if db.dialect == "sqlite":
        return " ".join(f'"{word}"*' for word in words)
    return " & ".join(f"{word}:*" for word in words)


async def index_gates(db: Database, limit: int) -> bool:
    """Let searches find gates that opened since, at most so many; returns whether more are left."""
    return db.dialect == "sqlite" and await db.execute(_INDEX, limit) == limit


async def unindex_gates(db: Database, limit: int) -> bool:
    """Forget the words of closed gates, at most so many; returns whether more are left."""
    return db.dialect == "sqlite" and await db.execute(_UNINDEX, limit) == limit


async def claims(
    db: Database, company_id: str, gates: Collection[tuple[str, str]]
) -> dict[tuple[str, str, int], Claim]:
    """Who looks at gates of these runs and steps, by run, step and visit."""
    found = {}
    for run_id in {run_id for run_id, _ in gates}:
        for run, step_id, visit, by, at in await db.rows(_CLAIMED, company_id, run_id):
            found[run, step_id, visit] = Claim(by, datetime.fromisoformat(at))
    return found


async def claim_gate(
    db: Database, company_id: str, gate: tuple[str, str, int], claim: Claim, receipt: Receipt | None = None
) -> None:
    if receipt is not None:
        await add_receipt(db, receipt, iso(claim.at))
    await db.execute(_CLAIM, company_id, *gate, claim.by, iso(claim.at))


async def release_gate(db: Database, company_id: str, gate: tuple[str, str, int]) -> None:
    await db.execute(_RELEASE, company_id, *gate)


async def reserve_business_key(
    db: Database, company_id: str, name: tuple[str, str], run_id: str, at: datetime
) -> str | None:
    """Give a (vertical, key) to a run; returns the unfinished run that has it already."""
    await db.next_position(company_id, 0)  # locks: nobody else gives the key away until the end
    row = await db.row(_TAKEN, company_id, *name)
    if row is not None and row[0] != run_id:
        taken, status, reserved_at = row
        begins = status is None and datetime.fromisoformat(reserved_at) > at - RESERVED
        if begins or status not in (None, "completed", "cancelled"):
            return str(taken)
    other: str | None = await db.value(_UNFINISHED, company_id, *name)
    if other is None:
        await db.execute(_RESERVE, company_id, *name, run_id, iso(at))
    return other


async def unlisted_gates(db: Database, after: Key, limit: int) -> tuple[Sequence[Key], Key | None]:
    """Parked runs of earlier versions whose gates are in no inbox yet, and where to look next."""
    rows = await db.rows(UNLISTED, *after, limit)
    unlisted = [(company_id, run_id) for company_id, run_id, is_unlisted in rows if is_unlisted]
    return unlisted, (rows[-1][0], rows[-1][1]) if len(rows) == limit else None


async def list_gates(db: Database, company_id: str, run: Run) -> None:
    """Put the open gates of a run into the inbox, if it still stands like this."""
    if await db.value(_STANDS, company_id, run.id, run.version):
        rows = [(company_id, run.id, one.step_id, one.visit, run.vertical, *one[2:]) for one in gate_rows(run)]
        await db.execute("DELETE FROM open_gates WHERE company_id = $1 AND run_id = $2", company_id, run.id)
        await db.insert(f"open_gates ({OPEN_GATE})", rows)

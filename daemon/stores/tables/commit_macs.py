"""Whether the keys of commits are those of this database, and MACs for commits from before them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import structlog

from daemon.keys.keyring import KeyFileRefused, announcement, why_lacking
from daemon.model.audit_events import COMMIT_MACS, SERVICE, CommitsAdopted, KeysChanged, KeysForm, Logged
from daemon.model.chain import CommitForged
from daemon.model.commitments.salted import REDACTED, holds_redacted
from daemon.model.event_log import EventIds
from daemon.stores.database import Work
from daemon.stores.tables.company_log import first_event, last_logged, log

if TYPE_CHECKING:
    from datetime import datetime

    from daemon.keys.commit_keys import CommitKeys
    from daemon.stores.database import Database, Row

Adopt = Literal["none", "missing", "all"]
ADOPTED_MAX = 256
VIA = "service"
_log = structlog.get_logger("penstock")

_NONE_HAS_ONE = (
    "SELECT EXISTS (SELECT 1 FROM commits WHERE mac IS NULL) "
    "AND NOT EXISTS (SELECT 1 FROM commits WHERE mac IS NOT NULL)"
)
# The events of redacted ones alone, since the MAC of no other covers more than the head.
_WITHOUT = (
    "SELECT company_id, run_id, version, first_seq, head, CASE WHEN {} > 0 THEN events END FROM commits "
    "WHERE mac IS NULL AND head IS NOT NULL LIMIT $1"
)
_WITHOUT_ONE = {
    "sqlite": _WITHOUT.format("instr(events, $2)"),
    "postgres": _WITHOUT.format("position($2 in events)"),
}
_KEY = "company_id = $1 AND run_id = $2 AND version = $3"
_ADOPT = f"UPDATE commits SET mac = $4 WHERE {_KEY}"
_ADOPT_TOGETHER = (
    "UPDATE commits SET mac = decode(one->>3, 'hex') FROM json_array_elements($1::json) AS one "
    "WHERE company_id = one->>0 AND run_id = one->>1 AND version = (one->>2)::bigint"
)


class Settled(NamedTuple):
    """How many commits were given MACs, and the ids of events by the oldest key."""

    adopted: int
    event_ids: EventIds


async def settle(
    together: Callable[[Work[Any]], Awaitable[Any]], keys: CommitKeys, now: datetime, adopt: Adopt
) -> Settled:
    """Check the keys at the start, and give MACs to commits from before them.

    That is only done when the keys are new, or an operator says so by `adopt`: later a commit
    without one is a forged one; "all" is for keys that are lost. `together` runs a work in a
    transaction. KeyFileRefused says what is wrong.
    """
    if adopt == "all":
        await together(_forget)
    else:
        await together(_check_known)
    adopted = await _adopt_all(together, keys, now, adopt)
    return Settled(adopted, keys.event_ids(await together(_plain_until)))


async def _adopt_all(
    together: Callable[[Work[Any]], Awaitable[Any]], keys: CommitKeys, now: datetime, adopt: Adopt
) -> int:
    if not keys.new and adopt == "none":
        if await together(_none_has_one):
            raise KeyFileRefused(
                f"The commits in this database are from before there were MACs, and {keys.file_name} is not new: "
                "stop every daemon, see that penstock verify finds nothing, and call penstock commits adopt"
            )
        return 0
    number = 0
    while some := await together(_adopted):
        number += some
    if number:
        await together(partial(_write_down, number=number, now=now))
        why = "their keys are lost" if adopt == "all" else "they were written before there were MACs"
        _log.warning("commits_adopted", commits=number, hint=why)
    if adopt == "all":
        form = KeysForm(current=keys.ring.current, known=tuple(keys.ring.keys))
        changed = KeysChanged(after=form, at=now, before=None, by="", purpose="commits", via=VIA)
        await together(lambda db: log(db, Logged(SERVICE, changed)))
    keys.settle()
    return number


async def _write_down(db: Database, number: int, now: datetime) -> None:
    until = await db.value("SELECT max(position) FROM commits")
    event = CommitsAdopted(at=now, key=db.keys.ring.current, number=number, until=until, via=VIA)
    await log(db, Logged(SERVICE, event, COMMIT_MACS))


async def _plain_until(db: Database) -> int:
    """The last commit whose position an earlier version may have given out as an id."""
    try:
        first = await first_event(db, SERVICE, COMMIT_MACS)
    except CommitForged:
        return 0
    return first.until if isinstance(first, CommitsAdopted) else 0


async def _check_known(db: Database) -> None:
    """KeyFileRefused when the file lacks all keys that were in use last."""
    last = await last_logged(db, SERVICE, announcement("commits"))
    if isinstance(last, KeysChanged) and db.keys.ring.keys.keys().isdisjoint(last.after.known):
        raise KeyFileRefused(why_lacking(db.keys.file_name, last.after.current, "the MACs of commits in this database"))


async def _forget(db: Database) -> None:
    """Drop all MACs, and the snapshots, which have some and follow from the commits."""
    await db.execute("DELETE FROM snapshots")
    await db.execute("UPDATE commits SET mac = NULL WHERE mac IS NOT NULL")


async def _none_has_one(db: Database) -> bool:
    return bool(await db.value(_NONE_HAS_ONE))


async def _adopted(db: Database) -> int:
    rows = await db.rows(_WITHOUT_ONE[db.dialect], ADOPTED_MAX, REDACTED)
    macs = [(*row[:3], _mac(db.keys, row)) for row in rows]
    if db.dialect == "postgres":
        await db.execute(_ADOPT_TOGETHER, json.dumps([(*place, mac.hex()) for *place, mac in macs]))
    else:
        await _adopt_each(db, macs)
    return len(rows)


def _mac(keys: CommitKeys, row: Row) -> bytes:
    *place, events = row
    mac = keys.mac((place[0], place[1]), *place[2:])
    return mac if events is None or not holds_redacted(events) else keys.redacted_mac(mac, events)


async def _adopt_each(db: Database, macs: list[Row]) -> None:
    for row in macs:
        await db.execute(_ADOPT, *row)

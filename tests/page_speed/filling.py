"""Fills a data folder with so many runs, of which so many wait at a gate, by the store's own code
in large transactions: runs of several templates, people and days, each with a key and inputs of its
own.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from actors.core.decider import TurnResult, step
from actors.core.folding.evolve import evolve
from actors.core.messages import Cancel, Start
from actors.ports import Commit
from daemon.engine.upkeep import index_all_runs, index_gates
from daemon.keys.commit_keys import FILE as COMMIT_KEYS
from daemon.keys.commit_keys import CommitKeys
from daemon.runtime.clock import new_id, utc_now
from daemon.stores.sqlite.journal import SqliteAppend, append_all
from daemon.stores.sqlite.store import SqliteStore
from daemon.templates.loading import CatalogEntry, shipped
from tests.bench.folders import DATABASE, HURRIED, seal

AT_ONCE = 2_000
DAYS = 90
VERTICALS = ("prior-auth", "collections", "loan-underwriting", "refund", "invoice-approval")
NAMES = ("Ellis", "Okafor", "Marsh", "Lindqvist", "Tanaka", "Moreau", "Haddad", "Novak", "Silva", "Byrne")
BY = "ada@example.test"
PEOPLE = ("grace", "linus", "edsger", "barbara", "tony")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many runs there are to be, and how many of them wait at a gate."""

    company_id: str
    runs: int
    gates: int


def fill(folder: Path, wanted: Wanted) -> None:
    """Write the runs, seal them, and let searches find them."""
    now, keys = utc_now(), CommitKeys.open(folder / COMMIT_KEYS, create=False)
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
        for pragma in HURRIED:
            db.execute(f"PRAGMA {pragma}").fetchall()
        commits = _commits(wanted, now)
        while appends := [SqliteAppend.from_commit(commit, now, keys) for commit in islice(commits, AT_ONCE)]:
            db.execute("BEGIN")
            append_all(db, appends)
            db.execute("COMMIT")
        seal(db, folder, keys)
    asyncio.run(_indexed(folder))


async def _indexed(folder: Path) -> None:
    async with SqliteStore.open(folder / DATABASE) as store:
        await index_all_runs(store)
        await index_gates(store)


def _commits(wanted: Wanted, now: datetime) -> Iterator[Commit]:
    """Runs like a few that the core has begun, each with an id, a time and values of its own."""
    some, every = random.Random(wanted.runs), wanted.runs / max(1, wanted.gates)
    entries = [one for one in shipped() if one.template.vertical in VERTICALS]
    begun = [(entry.example, _begun(wanted.company_id, entry, now)) for entry in entries]
    waiting = [one for one in begun if one[1].run.parked]
    ended = [(example, _cancelled(one, now)) for example, one in begun]
    gates = 0
    for number in range(wanted.runs):
        is_open = gates < wanted.gates and number >= gates * every
        example, like = some.choice(waiting if is_open else ended)
        at = now - timedelta(days=DAYS) * (1 - number / wanted.runs)
        run = _alike(like, at, _first(number, some, _inputs(example, number)))
        gates += len(run.run.parked)
        yield run


def _begun(company_id: str, entry: CatalogEntry, at: datetime) -> Commit:
    message = Start(run_id=new_id(), company_id=company_id, by=BY, inputs=entry.example, business_key="x", at=at)
    done = step(None, message, entry.template, {})
    assert isinstance(done, TurnResult)
    return Commit(done.run, done.events, done.run.resting)


def _cancelled(one: Commit, at: datetime) -> Commit:
    (entry,) = (each for each in shipped() if each.template.digest == one.run.template_digest)
    done = step(one.run, Cancel(by=BY, reason="no longer needed", at=at), entry.template, {})
    return Commit(done.run, (*one.events, *done.events), True) if isinstance(done, TurnResult) else one


def _first(number: int, some: random.Random, inputs: dict[str, Any]) -> dict[str, Any]:
    by = f"{some.choice(PEOPLE)}@example.test"
    return {"run_id": new_id(), "by": by, "inputs": inputs, "business_key": key_of(number)}


def _alike(like: Commit, at: datetime, first: dict[str, Any]) -> Commit:
    started, *others = like.events
    events = [replace(started, at=at, **first), *(replace(event, at=at) for event in others)]
    run = reduce(evolve, events, None)
    assert run is not None
    return Commit(run, tuple(events), like.resting)


def key_of(number: int) -> str:
    """The business key of the nth run."""
    return f"CASE-{2026_000_000 + number}"


def _inputs(example: dict[str, Any], number: int) -> dict[str, Any]:
    """Those of the example, with amounts, names and numbers that differ from run to run."""
    changed = {
        name: round(10 + number * 7.13 % 90_000, 2) if isinstance(value, float) else value
        for name, value in example.items()
    }
    name = NAMES[number % len(NAMES)]
    return {**changed, "customer_name": f"{name} {number // len(NAMES)}", "amount": round(50 + number * 3.7 % 9_000, 2)}

"""Fills a data FOLDER for a COMPANY with so many RUNS and their histories, in large transactions.

The service itself runs one to its end and parks others, which are reminded and escalated as older
ones have been. Every further run has the rows of one of these in each table, with an id, times and
a member of its own; hashes and MACs are made anew, and the trees by the store's own code. The ids
of the parked runs are left in the file `ids`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from actors.core.decider import TurnResult, step
from actors.core.messages import Due
from actors.core.people import Company, Person
from actors.ports import Commit
from daemon.audit.sealer import PUBLIC, Signer
from daemon.keys.commit_keys import FILE as COMMIT_KEYS
from daemon.keys.commit_keys import CommitKeys
from daemon.model.chain import extended, genesis
from daemon.model.reports.projection import FollowedCommit, Projection
from daemon.runtime.clock import utc_now
from daemon.stores import codec
from daemon.stores.database import Database
from daemon.stores.sqlite.database import run as run_on
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.tables import audit, open_gates, usage
from daemon.stores.tables.lists import search
from daemon.stores.tables.reports import following
from daemon.templates.loading import shipped
from tests.attack.wire import ask
from tests.bench.rivals.driving import INPUTS
from tests.bench.servers import Served, serving
from tests.load.__main__ import START, resume
from tests.load.pump import wire

T = TypeVar("T")
Values = list[Any]
DATABASE = "penstock.db"
RUNS_A_DAY = 5_000
"""The last days are alike in every folder: what they hold does not grow with what is stored."""
GATES = 4_000
"""So many runs, over all of the time, wait at their gate; the others have ended."""
RECEIPTS_KEPT = timedelta(days=2)
SAME_MEMBER = 10
AT_ONCE = 2_000
IDS_MAX = 20_000
FILLED_S = 3_600.0
COMMITS_MAX = 10**9
REMINDED = tuple(timedelta(days=days) for days in (2, 4, 5, 6, 6.5, 7))
"""When the gate of these runs reminds and escalates, and their clock warns and is breached."""
MEMBER, NUMBER = "777777", "number-of-loop"
MODEL = START | {"inputs": INPUTS | {"member_id": f"M-{MEMBER}"}}
_ORDER = {"order_id": NUMBER, "amount": 39.9, "currency": "EUR", "days_since_delivery": 5, "refunds_this_year": 0}
ALONE = {"vertical": "refund", "inputs": _ORDER}
"""One that nobody decides on."""
AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")
# Nothing has to survive: a folder that was not finished is made again. The service sets its own
# when it opens it.
HURRIED = ("journal_mode = OFF", "synchronous = OFF", "cache_size = -131072", "locking_mode = EXCLUSIVE")
_NUMBER = "(SELECT number FROM runs WHERE company_id = ?1 AND id = ?2)"
_OF_RUN = "company_id = ?1 AND run_id = ?2"
TABLES = {
    "runs": "company_id = ?1 AND id = ?2",
    "snapshots": f"run = {_NUMBER}",
    "commits": f"{_OF_RUN} ORDER BY version",
    "receipts": _OF_RUN,
    "open_gates": _OF_RUN,
    "gate_words": f"rowid IN (SELECT number FROM open_gates WHERE {_OF_RUN})",
    "run_words": f"rowid = {_NUMBER}",
    "report_visits": _OF_RUN,
    "report_decisions": _OF_RUN,
    "report_clocks": _OF_RUN,
    "run_readers": _OF_RUN,
}
_ADD_STEPS = (
    "INSERT INTO report_steps (company_id, day, vertical, step_id, cleared) VALUES (?, ?, ?, ?, ?) ON CONFLICT "
    "(company_id, day, vertical, step_id) DO UPDATE SET cleared = report_steps.cleared + excluded.cleared"
)


async def empty(folder: Path) -> tuple[str, str]:
    """A data folder with nothing in it but a company; returns its token and its id."""
    async with serving(folder) as service:
        return await service.register()


async def filled(
    source: Path, folder: Path, token: str, runs: int, *, a_day: int = RUNS_A_DAY, gates: int = GATES
) -> float:
    """A copy of an empty data folder with so many runs in it, made by a process of its own; returns
    the seconds it took.
    """
    began = time.perf_counter()
    shutil.copytree(source, folder)
    models = await _models(folder, token)
    arguments = (str(folder), *map(str, (runs, a_day, gates)), *models)
    filling = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.bench.folders", *arguments)
    try:
        async with asyncio.timeout(FILLED_S):
            assert await filling.wait() == 0
    finally:
        if filling.returncode is None:
            filling.kill()
            await filling.wait()
    return time.perf_counter() - began


async def _models(folder: Path, token: str) -> list[str]:
    """The ids of runs that the service has led to their ends, and of some that wait at a gate."""
    bodies = [json.dumps(MODEL).encode()] * (2 + len(REMINDED)) + [json.dumps(ALONE).encode()]
    ids = []
    async with serving(folder, figures=False) as service:
        for number, body in enumerate(bodies):
            headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"start-{number}-{NUMBER}"}
            started = await _answered(service, wire("POST", "/process-runs/", body, headers))
            ids.append(str(started["id"]))
        ended = [await _answered(service, resume(ids[0], "approved", token, f"verdict-{NUMBER}"))]
        ended.append((await service.get(f"/process-runs/{ids[-1]}", token)).json)
        assert {one["status"] for one in ended} == {"completed"}
    async with SqliteStore.open(folder / DATABASE) as store:
        for times, run_id in enumerate(ids[1:-1]):
            for after in REMINDED[:times]:
                await _told(store, run_id, after)
    return [ids[-1], *ids[:-1]]


async def _answered(service: Served, request: bytes) -> dict[str, Any]:
    answer = await ask(service.port, request)
    assert answer is not None
    found: dict[str, Any] = answer.json
    return found


async def _told(store: SqliteStore, run_id: str, after: timedelta) -> None:
    """Tell a run that so much time has passed, as the service does when something is due."""
    (company_id,) = {one.company_id for one in await store.parked(("", ""), 1)}
    found = await store.load_committed(company_id, run_id)
    assert found is not None
    (entry,) = (one for one in shipped() if one.template.vertical == found.run.vertical)
    owner = Person("owner", found.run.created_by, "owner")
    company = Company(people={owner.email: owner}, solo=True)
    done = step(found.run, Due(at=found.run.created_at + after), entry.template, {}, company=company)
    assert isinstance(done, TurnResult)
    await store.append(Commit(done.run, done.events, done.run.resting, follows=found.head))


@dataclass(slots=True)
class Form:
    """A row of a table whose texts another run fills in."""

    values: Values
    texts: list[tuple[int, str, bool]] = field(default_factory=list)
    """The column, the text with its marks, and whether it is stored as bytes."""

    def made(self, marks: dict[str, str]) -> Values:
        values = self.values.copy()
        for column, text, binary in self.texts:
            told = text % marks
            values[column] = told.encode("latin-1") if binary else told
        return values


class Model:
    """What the service keeps of one run, by table."""

    def __init__(self, db: sqlite3.Connection, run_id: str) -> None:
        self.company_id, created_at, wake_at = db.execute(
            "SELECT company_id, created_at, wake_at FROM runs WHERE id = ?", [run_id]
        ).fetchone()
        self.created_at = datetime.fromisoformat(created_at)
        self.fresh = timedelta.max if wake_at is None else datetime.fromisoformat(wake_at) - self.created_at
        """How old it may be before something is due."""
        self._times: dict[str, datetime] = {}
        self._ids = {run_id: "id", run_id.replace("-", ""): "hex", NUMBER: "number", MEMBER: "member"}
        key = (self.company_id, run_id)
        self.forms = {name: [self._form(row) for row in rows] for name, rows in self._rows(db, key).items()}
        self.cleared = _cleared(db, key)

    def _rows(self, db: sqlite3.Connection, key: tuple[str, str]) -> dict[str, list[Values]]:
        found = {}
        for name, where in TABLES.items():
            columns = "rowid, words" if name.endswith("_words") else "*"
            found[name] = [list(row) for row in db.execute(f"SELECT {columns} FROM {name} WHERE {where}", key)]
        others = db.execute(
            "SELECT m.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table' "
            "AND c.name = 'run_id'"
        ).fetchall()
        for (name,) in others:
            known = name in TABLES or not db.execute(f"SELECT 1 FROM {name} WHERE run_id = ?", [key[1]]).fetchone()
            assert known, f"{name} has rows of a run, and a made folder has none"
        return found

    def _form(self, row: Values) -> Form:
        form = Form(row)
        for column, value in enumerate(row):
            if isinstance(value, str | bytes):
                text = value.decode("latin-1") if isinstance(value, bytes) else value
                marked = self._marked(text)
                if marked != text.replace("%", "%%"):
                    form.texts.append((column, marked, isinstance(value, bytes)))
        return form

    def _marked(self, text: str) -> str:
        text = text.replace("%", "%%")
        for at in sorted(set(AT.findall(text))):
            self._times.setdefault(at, datetime.fromisoformat(at))
            text = text.replace(at, f"%({at})s")
        for known, mark in self._ids.items():
            text = text.replace(known, f"%({mark})s")
        return text

    def marks(self, number: int, created_at: datetime) -> dict[str, str]:
        """What run number so and so has in place of the marks."""
        later = timedelta(seconds=round((created_at - self.created_at).total_seconds()))
        began = self.created_at + later
        run_id = _id_at(began)
        marks = {at: (told + later).isoformat(timespec="microseconds") for at, told in self._times.items()}
        member = f"{number // SAME_MEMBER:0{len(MEMBER)}d}"
        return marks | {
            "id": run_id,
            "hex": run_id.replace("-", ""),
            "number": f"{number:0{len(NUMBER)}d}",
            "member": member,
        }


def _id_at(at: datetime) -> str:
    """An id of a run as it would have been at that time, a UUID of version 7."""
    some = random.getrandbits(12) << 64 | random.getrandbits(62)
    return str(UUID(int=int(at.timestamp() * 1_000) << 80 | 7 << 76 | 2 << 62 | some))


def _cleared(db: sqlite3.Connection, key: tuple[str, str]) -> Counter[tuple[str, str]]:
    """How often a run counts in the reports as cleared, by template and step."""
    projection = Projection({})
    (vertical,) = db.execute("SELECT vertical FROM runs WHERE company_id = ? AND id = ?", key).fetchone()
    for first, exact, events in db.execute(
        "SELECT first_seq, exact, events FROM commits WHERE company_id = ? AND run_id = ? ORDER BY version", key
    ):
        projection.add(FollowedCommit(*key, vertical, first, codec.decode_events(events, exact)))
    assert not projection.calls, "a made folder counts no calls"
    found: Counter[tuple[str, str]] = Counter()
    for (_, _, vertical, step_id), cleared in projection.cleared.items():
        found[vertical, step_id] += cleared
    return found


class Filling:
    """The rows of ever more runs, behind those that are there."""

    def __init__(self, db: sqlite3.Connection, keys: CommitKeys) -> None:
        self._db = db
        self._keys = keys
        self._columns = {name: _columns(db, name) for name in TABLES}
        self._run, self._position, self._gate = (
            db.execute(f"SELECT coalesce(max({number}), 0) FROM {table}").fetchone()[0]
            for table, number in (("runs", "number"), ("commits", "position"), ("open_gates", "number"))
        )
        self._rows: dict[str, list[Values]] = defaultdict(list)
        self._cleared: Counter[tuple[str, str, str, str]] = Counter()

    def add(self, model: Model, number: int, created_at: datetime, *, receipts: bool) -> str:
        """Add the rows of one run; returns its id."""
        marks, self._run = model.marks(number, created_at), self._run + 1
        key = (model.company_id, marks["id"])
        made = {name: [form.made(marks) for form in forms] for name, forms in model.forms.items()}
        for name, column in (("runs", "number"), ("snapshots", "run"), ("run_words", "rowid")):
            for row in made[name]:
                row[self._columns[name][column]] = self._run
        for gate, words in zip(made["open_gates"], made["gate_words"], strict=True):
            self._gate += 1
            gate[self._columns["open_gates"]["number"]] = words[0] = self._gate
        self._chain(key, made["commits"])
        at = self._columns["snapshots"]
        for row in made["snapshots"]:
            version, schema, body = (row[at[name]] for name in ("version", "schema", "body"))
            row[at["mac"]] = self._keys.snapshot_mac(key, version, schema, body)
        for name, rows in made.items():
            if receipts or name != "receipts":
                self._rows[name] += rows
        for (vertical, step_id), cleared in model.cleared.items():
            self._cleared[model.company_id, created_at.date().isoformat(), vertical, step_id] += cleared
        return key[1]

    def _chain(self, key: tuple[str, str], commits: Sequence[Values]) -> None:
        at, head = self._columns["commits"], genesis(*key)
        for row in commits:
            self._position += 1
            head = extended(head, row[at["events"]].split(b"\n"))
            mac = self._keys.mac(key, row[at["version"]], row[at["first_seq"]], head)
            row[at["position"]], row[at["head"]], row[at["mac"]] = self._position, head, mac

    def write(self) -> None:
        """Write what was added, in one transaction."""
        self._db.execute("BEGIN")
        for name, rows in self._rows.items():
            names = ", ".join(self._columns[name])
            places = ", ".join("?" * len(self._columns[name]))
            self._db.executemany(f"INSERT INTO {name} ({names}) VALUES ({places})", rows)
        self._db.executemany(_ADD_STEPS, [(*step, cleared) for step, cleared in self._cleared.items()])
        self._db.execute("COMMIT")
        self._rows.clear()
        self._cleared.clear()


def _columns(db: sqlite3.Connection, table: str) -> dict[str, int]:
    """Where the columns of a table stand; those of a search index are two."""
    if table.endswith("_words"):
        return {"rowid": 0, "words": 1}
    return {row[1]: number for number, row in enumerate(db.execute(f"PRAGMA table_info({table})"))}


def fill(folder: Path, runs: int, a_day: int, gates: int, *model_ids: str) -> None:
    """Make so many runs of these, and have all of it on the disk in the end."""
    now, ids = utc_now(), list(model_ids[2:])
    keys = CommitKeys.open(folder / COMMIT_KEYS, create=False)
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
        for pragma in HURRIED:
            db.execute(f"PRAGMA {pragma}").fetchall()
        follow(db, keys)
        alone, decided, *parked = (Model(db, one) for one in model_ids)
        filling, more = Filling(db, keys), runs - len(model_ids)
        for number in range(more):
            age = timedelta(days=1) * ((more - number) / a_day)
            # Every second is decided on, so that a day has as many decisions in every folder; those
            # that wait are spread evenly among the others.
            nth, odd = divmod(number, 2)
            waits = not odd and (nth + 1) * gates // (more // 2) > nth * gates // (more // 2)
            model = next(one for one in parked if age < one.fresh) if waits else decided if odd else alone
            run_id = filling.add(model, number, now - age, receipts=age < RECEIPTS_KEPT)
            ids += [run_id] if waits else []
            if number % AT_ONCE == 0:
                filling.write()
        filling.write()
        for table in ("search_progress", "report_cursors"):
            db.execute(f"UPDATE {table} SET position = (SELECT max(position) FROM commits) WHERE company_id = ''")
        seal(db, folder, keys)
        follow(db, keys)
    random.Random(runs).shuffle(ids)
    (folder / "ids").write_text("\n".join(ids[:IDS_MAX]), encoding="ascii")
    with (folder / DATABASE).open("rb") as file:
        os.fsync(file.fileno())


def seal(db: sqlite3.Connection, folder: Path, keys: CommitKeys) -> None:
    """Give every commit its leaf, and have the service record every root, so that it has nothing to
    catch up with.
    """
    signer = Signer(folder / "audit.keys", folder / PUBLIC, utc_now)
    in_one = partial(_in_one, db, keys)
    while in_one(lambda one: audit.seal(one, signer.sign, None)).commits or in_one(_recorded):
        pass


async def _recorded(db: Database) -> int:
    return await audit.record_roots(db, utc_now())


def follow(db: sqlite3.Connection, keys: CommitKeys) -> None:
    """Bring the reports, the search indexes and what is counted up to the commits, as the service
    does beside its requests.
    """
    in_one = partial(_in_one, db, keys)
    while in_one(_follow):
        pass
    while in_one(_index):
        pass
    while in_one(lambda one: open_gates.index_gates(one, AT_ONCE)):
        pass
    in_one(lambda one: usage.count_usage(one, "", COMMITS_MAX))


async def _follow(db: Database) -> bool:
    found = await following.later_commits(db, "", AT_ONCE)
    return found is not None and await following.keep_following(db, found, "")


async def _index(db: Database) -> bool:
    found = await search.unindexed(db, None)
    return found is not None and await search.index(db, found)


def _in_one(db: sqlite3.Connection, keys: CommitKeys, work: Callable[[Database], Awaitable[T]]) -> T:
    """Run a work of the store in a transaction."""
    db.execute("BEGIN")
    found = run_on(work, db, keys)
    db.execute("COMMIT")
    return found


if __name__ == "__main__":
    gc.freeze()
    gc.disable()  # nothing here is a cycle
    place, runs, a_day, gates, *model_ids = sys.argv[1:]
    fill(Path(place), int(runs), int(a_day), int(gates), *model_ids)

"""Whether an image opens, is sound, and has in it whatever somebody was told before the power
went.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import jwt

from actors.core.messages import Event, RunStarted, StepCleared, VerdictGiven
from actors.ports import StoreFailed
from daemon.app import Lifecycle, opened
from daemon.identity.accounts import Identity, NotAuthenticated
from daemon.keys.keyring import KeyFileRefused, KeyRing, read_ring
from daemon.model import SchemaMismatch
from daemon.settings import Settings
from daemon.stores import codec
from daemon.stores.store import Store

JWT_KEYS, VAULT_KEY, DATABASE = "jwt.keys", "vault.key", "penstock.db"


@dataclass(slots=True)
class Known:
    """What callers were told so far."""

    companies: dict[str, str] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    revoked: dict[str, str] = field(default_factory=dict)
    connectors: set[tuple[str, str, int]] = field(default_factory=set)
    runs: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    verdicts: dict[tuple[str, str, str], str] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    answers: dict[tuple[str, str], tuple[int, bytes]] = field(default_factory=dict)
    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, data: bytes) -> None:
        """Take in what somebody was told."""
        told = json.loads(data)
        match told["what"]:
            case "account":
                self.companies[told["email"]] = told["company"]
            case "token":
                self.tokens.add(told["token"])
                self.keys[JWT_KEYS].add(jwt.get_unverified_header(told["token"])["kid"])
            case "leaving":
                self.tokens.discard(told["token"])
            case "revoked":
                self.revoked[told["token_id"]] = told["token"]
            case "key":
                self.keys[told["file"]].add(told["id"])
            case "pruning":
                self.keys.pop(VAULT_KEY, None)
            case what:
                self._add_of_work(what, told)

    def _add_of_work(self, what: str, told: dict[str, Any]) -> None:
        company = told.get("company", "")
        match what:
            case "connector":
                self.connectors.add((company, told["tool"], told["version"]))
            case "run":
                key = (company, told["id"])
                self.runs[key] = max(self.runs.get(key, (0, "")), (told["version"], told["status"]))
            case "verdict":
                self.verdicts[company, told["run"], told["gate"]] = told["decision"]
            case "called":
                self.calls.add(told["key"])
            case "answer":
                self.answers[company, told["key"]] = (told["status"], told["body"].encode())
            case unknown:
                raise AssertionError(unknown)

    def __bool__(self) -> bool:
        return bool(self.companies or self.keys)


def faults(folder: Path, known: Known) -> list[str]:
    """What is wrong with an image."""
    rings, found = {}, []
    for file in (JWT_KEYS, VAULT_KEY):
        try:
            rings[file] = read_ring(folder / file) if (folder / file).exists() else KeyRing("", {})
        except KeyFileRefused as refused:
            found.append(str(refused))
            continue
        found += [f"{file}: the key {key} is gone" for key in known.keys.get(file, set()) - set(rings[file].keys)]
    if not (folder / DATABASE).exists():
        return [*found, "the database is gone"] if known.companies else found
    try:
        with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
            found += _of_database(db, known)
            found += _without_key(db, rings.get(VAULT_KEY))
    except sqlite3.Error as error:
        found.append(f"the database cannot be used: {error!r}")
    return found


def _of_database(db: sqlite3.Connection, known: Known) -> list[str]:
    found = [f"integrity_check: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row != ("ok",)]
    found += [f"foreign_key_check: {row}" for row in db.execute("PRAGMA foreign_key_check")]
    if _has(db, "runs") and _has(db, "connector_changes"):
        found += _of_shelves(db, known)
        found += _of_runs(db, known)
    elif known.companies:
        found.append("the tables are gone")
    return found


def _has(db: sqlite3.Connection, table: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _without_key(db: sqlite3.Connection, ring: KeyRing | None) -> Iterator[str]:
    """Stored secrets whose key is not in the vault's file: nobody will read them again."""
    if ring is not None and _has(db, "company_keys"):
        for company, key in db.execute("SELECT company_id, key_id FROM company_keys"):
            if key not in ring.keys:
                yield f"{VAULT_KEY}: the key {key} is gone, and it wraps that of the company {company}"


def _of_shelves(db: sqlite3.Connection, known: Known) -> Iterator[str]:
    companies = dict(db.execute("SELECT email, company_id FROM users"))
    yield from (f"the account {email} is gone" for email in known.companies.items() - companies.items())
    revoked = {token for (token,) in db.execute("SELECT token_id FROM revocations")}
    yield from (f"the token {token} counts again" for token in known.revoked.keys() - revoked)
    changes = set(db.execute("SELECT company_id, tool_id, version FROM connector_changes"))
    yield from (f"the connector {connector} is gone" for connector in known.connectors - changes)
    rows = db.execute("SELECT company_id, key, status, body FROM receipts")
    # A key is kept behind its caller, and those of the workload are of one person each.
    answers = {(company, key.rpartition("\n")[2]): (status, bytes(body)) for company, key, status, body in rows}
    yield from (f"the answer under {key} is gone" for key, _ in known.answers.items() - answers.items())


def _of_runs(db: sqlite3.Connection, known: Known) -> Iterator[str]:
    rows = db.execute("SELECT company_id, id, version, status FROM runs")
    runs: dict[tuple[str, str], tuple[int, str]] = {(row[0], row[1]): (row[2], row[3]) for row in rows}
    for key, told in known.runs.items():
        there = runs.get(key, (0, "missing"))
        if there[0] < told[0] or (there[0] == told[0] and there != told):
            yield f"the run {key[1]} was told to be {told}, and is {there}"
    templates = {digest for (digest,) in db.execute("SELECT digest FROM templates")}
    ends: dict[tuple[str, str], int] = {}
    verdicts: dict[tuple[str, str, str], str] = {}
    cleared: set[str] = set()
    for company, run, version, first, data in db.execute(
        "SELECT company_id, run_id, version, first_seq, events FROM commits "
        "WHERE run_id <> company_id AND company_id <> '' ORDER BY company_id, run_id, version"
    ):
        history = _history(data)
        if first != ends.get((company, run), 0) + 1 or version != first + history.events - 1:
            yield f"the history of the run {run} has a gap before {first}"
        if not history.templates <= templates:
            yield f"the template of the run {run} is gone"
        ends[company, run] = version
        cleared.update(f"{run}:{visit}" for visit in history.cleared)
        verdicts.update({(company, run, gate): decision for gate, decision in history.verdicts})
    yield from (f"the run {key} is not what its history says" for key in runs if runs[key][0] != ends.get(key))
    yield from (f"the verdict on {key} is gone" for key, _ in known.verdicts.items() - verdicts.items())
    yield from (f"the call {key} was sent, and nothing says so" for key in known.calls - cleared)


@dataclass(frozen=True, slots=True)
class History:
    """What matters here of the events of a commit."""

    events: int
    templates: frozenset[str]
    verdicts: tuple[tuple[str, str], ...]
    cleared: tuple[str, ...]


@lru_cache(100_000)
def _history(data: bytes) -> History:
    events: tuple[Event, ...] = codec.decode_events(data)
    templates = frozenset(event.template_digest for event in events if isinstance(event, RunStarted))
    verdicts = tuple((event.step_id, event.decision) for event in events if isinstance(event, VerdictGiven))
    cleared = tuple(f"{event.step_id}:{event.visit}" for event in events if isinstance(event, StepCleared))
    return History(len(events), templates, verdicts, cleared)


async def faults_of_service(folder: Path, templates: Path, known: Known) -> list[str]:
    """What is wrong with an image when the service itself opens it."""
    settings = Settings(data_dir=folder, templates_dir=templates, rate_limits=False, drain_timeout_s=0)
    try:
        async with opened(settings, Lifecycle()) as services:
            return [*_of_tokens(services.identity, known), *await _of_served(services.store, known)]
    except (StoreFailed, SchemaMismatch, KeyFileRefused) as refused:
        return [f"the service refuses to start: {refused}"]


def _of_tokens(identity: Identity, known: Known) -> Iterator[str]:
    yield from (f"the token {token} no longer counts" for token in known.tokens if not _counts(identity, token))
    yield from (f"the token {token} counts again" for token in known.revoked.values() if _counts(identity, token))


async def _of_served(store: Store, known: Known) -> list[str]:
    found = []
    for (company, run_id), (version, _) in known.runs.items():
        run = await store.load(company, run_id)
        if run is None or run.version < version:
            found.append(f"the run {run_id} was told to be at {version}")
            continue
        events = await store.history(company, run_id, 0, run.version)  # it may have gone on meanwhile
        if codec.fold(one.event for one in events) != run:
            found.append(f"the run {run_id} is not what its history says")
    return found


def _counts(identity: Identity, token: str) -> bool:
    try:
        identity.principal(token)
    except NotAuthenticated:
        return False
    return True

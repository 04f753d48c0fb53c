"""Checks of the database: schema, integrity, hash chains, templates, stuck runs."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from actors.core.run import Run
from actors.core.template import Template
from actors.ports import StoreFailed
from daemon.audit.sealer import PUBLIC, read_public
from daemon.doctor.environment import Check, commit_keys, few, ok, problem, vault_ring, warning
from daemon.engine.sweeper import reason
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import (
    SEALED,
    KeyFileRefused,
    KeyRing,
    belong_together,
    missing,
    read_ring,
    why_lacking,
    why_stranger,
)
from daemon.model import SchemaMismatch
from daemon.model.audit_events import KeyPurpose
from daemon.runtime.clock import SKEW_MIN_S
from daemon.settings import Settings, database_address, key_files
from daemon.stores.migrations import pending, read_migrations
from daemon.stores.sqlite import inspection
from daemon.stores.sqlite.connection import DATABASE, in_use
from daemon.templates.loading import TemplateRefused, load_json, uncompiled
from daemon.verification.stores import verify_store

if TYPE_CHECKING:
    from daemon.stores.postgres.inspection import Facts


BACKUP = "back it up by PostgreSQL's own means (pg_dump, or a base backup with its WAL); penstock backup is for SQLite"


def shared(url: str, settings: Settings, commit_keys: CommitKeys | None) -> Iterator[Check]:
    from daemon.stores.postgres.inspection import inspect  # noqa: PLC0415 - most do without PostgreSQL
    from daemon.stores.postgres.timelines import FILE, Timelines  # noqa: PLC0415 - as above

    try:
        facts = asyncio.run(inspect(url, commit_keys, Timelines(settings.data_dir / FILE)))
    except (StoreFailed, SchemaMismatch) as error:
        yield problem("database", str(error), "is PENSTOCK_DATABASE_URL right, and does PostgreSQL run?")
        return
    yield ok("database", f"PostgreSQL {facts.server}, fsync and synchronous_commit are on")
    if abs(facts.skew_s) >= SKEW_MIN_S:
        text = f"the database's is {abs(facts.skew_s):.1f} s {'ahead' if facts.skew_s > 0 else 'behind'}"
        said = problem if abs(facts.skew_s) >= settings.lease_s else warning
        yield said("clock", text, f"synchronize both by NTP: from {settings.lease_s:g} s on a daemon ends")
    if not facts.schema:
        hint = "penstock serve makes it; is PENSTOCK_DATABASE_URL right?"
        yield warning("schema", "there is nothing in it yet", hint)
        return
    later = f"; {facts.missing} more from the next start on" if facts.missing else ""
    yield ok("schema", f"schema {facts.schema}{later}")
    if facts.moving is not None:
        yield problem("move", f"the move from {facts.moving} is not finished", "call penstock migrate again")
    late = [name for name, left_s in facts.daemons.items() if left_s < 0]
    yield ok("daemons", f"{len(facts.daemons) - len(late)} hold a lease: {', '.join(sorted(facts.daemons)) or 'none'}")
    if late:
        text = f"have not renewed it: {', '.join(sorted(late))}"
        yield warning("daemons", text, "another daemon takes over from them as soon as one runs")
    yield from _keys(facts, key_files(settings))
    if facts.nobodys:
        text = f"{facts.nobodys:,} are not at rest and no daemon sees to them"
        yield warning("runs", text, "start a daemon: it takes them up")
    runs = ", ".join(f"{number:,} {status}" for status, number in facts.runs.items())
    yield ok("runs", runs or "none")
    yield ok("backup", BACKUP)


def _keys(facts: Facts, files: Mapping[KeyPurpose, Path]) -> Iterator[Check]:
    """Check whether a daemon could start with these key files; skips unreadable ones."""
    rings: dict[KeyPurpose, KeyRing] = {}
    for purpose, path in files.items():
        with suppress(KeyFileRefused):
            rings[purpose] = read_ring(path)
    known = [purpose for purpose in facts.keys if purpose in rings]
    alike = [purpose for purpose in known if belong_together(rings[purpose], facts.keys[purpose])]
    running = any(left_s > 0 for left_s in facts.daemons.values())
    for purpose in (purpose for purpose in known if purpose not in alike):
        said = problem if running else warning
        yield said("keys", why_stranger(files[purpose], purpose), "as long as they run, no other starts with this file")
    gone = missing(rings["secrets"], facts.wrapping) if "secrets" in rings else []
    for key_id in gone:
        hint = "without it no daemon starts: see docs/guides/scaling.md"
        yield problem("keys", why_lacking(files["secrets"], key_id, SEALED), hint)
    if alike and not gone:
        yield ok("keys", f"those of the daemons on this database ({', '.join(alike)})")


STILL_S = 3_600
DAMAGED = "stop the service and restore the last backup; keep the damaged database"


def contents(settings: Settings, now: datetime) -> Iterator[Check]:
    """All checks of the database that need no write."""
    try:
        url = database_address(settings)
    except (OSError, ValueError) as error:
        file = settings.database_password_file
        yield problem(
            "database", f"{file} cannot be read: {type(error).__name__}", "correct PENSTOCK_DATABASE_PASSWORD_FILE"
        )
        return
    if url is not None:
        yield from shared(url, settings, commit_keys(settings))
        return
    database = settings.data_dir / DATABASE
    if not database.exists():
        yield warning("database", f"there is no {database}", "penstock serve makes it; is PENSTOCK_DATA_DIR right?")
        return
    try:
        with inspection.looking(database) as db:
            yield from _looked_at(db, settings, now)
    except sqlite3.Error as error:
        yield problem("database", f"{database} cannot be read: {error}", DAMAGED)
    else:
        yield from chain(settings.data_dir, commit_keys(settings))


def _looked_at(db: sqlite3.Connection, settings: Settings, now: datetime) -> Iterator[Check]:
    yield from _integrity(db)
    usable = _schema(db)
    yield usable
    if usable.state == "problem" or pending(read_migrations(), inspection.applied(db)):
        return
    yield from _vault(db, settings)
    templates, found = _templates(db)
    yield from found
    keys = commit_keys(settings)
    if keys is not None:
        running = in_use(settings.data_dir)
        yield from _runs(db, keys, templates, now, running=running)


def _integrity(db: sqlite3.Connection) -> Iterator[Check]:
    wrong = inspection.damage(db) or inspection.orphans(db)
    yield from (problem("integrity", text, DAMAGED) for text in few(wrong))
    if not wrong:
        yield ok("integrity", "the file is sound, and every row that is referred to is there")


def _schema(db: sqlite3.Connection) -> Check:
    applied, known = inspection.applied(db), read_migrations()
    if not applied:
        return problem("schema", "this is no database of Penstock", "is PENSTOCK_DATA_DIR right?")
    try:
        missing = pending(known, applied)
    except SchemaMismatch as mismatch:
        return problem("schema", str(mismatch), "use the version that wrote it, or restore a backup")
    later = f"; {len(known)} from the next start on" if missing else ""
    return ok("schema", f"schema {applied[-1].number} ({applied[-1].name}){later}")


def _vault(db: sqlite3.Connection, settings: Settings) -> Iterator[Check]:
    ring = vault_ring(settings)
    missing = [] if ring is None else [key for key in inspection.wrapping_keys(db) if key not in ring.keys]
    for key_id in missing:
        hint = "put back the key file that was in use then; without it the companies enter their secrets anew"
        yield problem("keys", f"stored secrets need the key {key_id}, which the key file does not hold", hint)
    if ring is not None and not missing:
        yield ok("keys", "the key of every stored secret is there")


def chain(folder: Path, keys: CommitKeys | None) -> Iterator[Check]:
    try:
        found = few(map(str, verify_store(folder, read_public(folder / PUBLIC), commit_keys=keys)))
    except (KeyFileRefused, OSError, ValueError, sqlite3.Error) as error:
        yield problem("chain", f"it cannot be checked: {error}", "run penstock verify")
        return
    yield from (problem("chain", text, "keep this database as it is, and ask who changed it") for text in found)
    if not found:
        yield ok("chain", "every history is the one that was written")


def _templates(db: sqlite3.Connection) -> tuple[dict[str, Template], list[Check]]:
    loaded: dict[str, Template] = {}
    wrong: list[str] = []
    for document in inspection.templates(db):
        try:
            template = load_json(document.document).template
        except (ValueError, TemplateRefused) as error:
            wrong.append(f"{document.vertical} version {document.version} does not load: {error}")
            continue
        if template.digest == document.digest:
            loaded[document.digest] = template
        else:
            wrong.append(f"{document.vertical} version {document.version} is not what its digest says")
    hint = "runs of it cannot go on: use the version of the service that wrote it, or restore a backup"
    found = [problem("templates", text, hint) for text in few(wrong)]
    return loaded, found or [ok("templates", f"all {len(loaded)} that were ever used load")]


def _runs(
    db: sqlite3.Connection, keys: CommitKeys, templates: dict[str, Template], now: datetime, *, running: bool
) -> Iterator[Check]:
    wrong, still, number = [f"{run_id}: {why}" for run_id, why in inspection.contradictory(db)], [], 0
    used = set[str]()
    for run_id, run in inspection.open_runs(db, keys):
        number += 1
        used.update(() if run is None else (run.template_digest,))
        why = _stuck(run, templates)
        if why is not None:
            wrong.append(f"{run_id}: {why}")
        elif run is not None and not run.resting and now - run.updated_at > timedelta(seconds=STILL_S):
            still.append(run_id)
    yield from (problem("runs", text, "cancel the run, or report this") for text in few(list(dict.fromkeys(wrong))))
    if still and running:
        text = f"unchanged for an hour, though not at rest: {', '.join(few(still))}"
        yield warning("runs", text, "look for run_stuck and call_not_begun in the log")
    if not wrong:
        yield ok("runs", f"{number:,} are not at an end, and each has a reason to wake")
    yield from _compiling(db, used & templates.keys())


def _compiling(db: sqlite3.Connection, used: Collection[str]) -> Iterator[Check]:
    """What of the templates of these runs compiles no more."""
    pinned = [one for one in inspection.templates(db) if one.digest in used]
    wrong = [f"{one.vertical} version {one.version}: {why}" for one in pinned for why in uncompiled(one.document)]
    hint = "a run parks where it is asked: publish a version that compiles, and migrate its runs"
    yield from (warning("templates", text, hint) for text in few(wrong))


def _stuck(run: Run | None, templates: dict[str, Template]) -> str | None:
    if run is None:
        return "its history cannot be read"
    template = templates.get(run.template_digest)
    if template is None:
        return f"its template {run.template_digest} cannot be used"
    return None if reason(run, template) is not None else "nothing that it waits for can come"

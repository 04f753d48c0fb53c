"""Checks of a PostgreSQL database, without joining the daemons."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from actors.ports import StoreFailed
from daemon.doctor.checks import Check, ok, problem, warning
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.consistency import SEALED, belong_together, missing, why_lacking, why_stranger
from daemon.keys.keyring import KeyFileRefused, KeyRing, read_ring
from daemon.model import SchemaMismatch
from daemon.model.audit_events import KeyPurpose

if TYPE_CHECKING:
    from daemon.stores.postgres.inspection import Facts

BACKUP = "back it up by PostgreSQL's own means (pg_dump, or a base backup with its WAL); penstock backup is for SQLite"


def shared(url: str, files: Mapping[KeyPurpose, Path], commit_keys: CommitKeys | None) -> Iterator[Check]:
    from daemon.stores.postgres.inspection import look  # noqa: PLC0415 - most do without PostgreSQL

    try:
        facts = asyncio.run(look(url, commit_keys))
    except (StoreFailed, SchemaMismatch) as error:
        yield problem("database", str(error), "is PENSTOCK_DATABASE_URL right, and does PostgreSQL run?")
        return
    yield ok("database", f"PostgreSQL {facts.server}, fsync and synchronous_commit are on")
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
    yield from _keys(facts, files)
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

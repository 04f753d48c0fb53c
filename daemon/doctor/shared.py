"""What a PostgreSQL database holds, as far as the doctor can say without joining the daemons."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from actors.ports import StoreFailed
from daemon.doctor.checks import Check, ok, problem, warning
from daemon.ports import SchemaMismatch

BACKUP = "back it up by PostgreSQL's own means (pg_dump, or a base backup with its WAL); penstock backup is for SQLite"


def shared(url: str) -> Iterator[Check]:
    """All that can be said of the database without writing to it."""
    from daemon.stores.postgres_inspection import look  # noqa: PLC0415 - most do without PostgreSQL

    try:
        facts = asyncio.run(look(url))
    except (StoreFailed, SchemaMismatch) as error:
        yield problem("database", str(error), "is PENSTOCK_DATABASE_URL right, and does PostgreSQL run?")
        return
    yield ok("database", f"PostgreSQL {facts.server}, fsync and synchronous_commit are on")
    if not facts.schema:
        yield warning(
            "schema", "there is nothing in it yet", "penstock serve makes it; is PENSTOCK_DATABASE_URL right?"
        )
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
    if facts.nobodys:
        text = f"{facts.nobodys:,} are not at rest and no daemon sees to them"
        yield warning("runs", text, "start a daemon: it takes them up")
    runs = ", ".join(f"{number:,} {status}" for status, number in facts.runs.items())
    yield ok("runs", runs or "none")
    yield ok("backup", BACKUP)

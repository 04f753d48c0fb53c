"""`penstock`, with checkpoints as often as a test wants them and, where one is asked for, a fault
planted.

The faults live here and nowhere else: no switch of the service turns them on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any

from argon2 import PasswordHasher

from actors.core.messages import StepCleared
from actors.ports import Commit
from daemon.cli import app
from daemon.identity import passwords
from daemon.runtime import durable_files
from daemon.stores.sqlite import connection, engine
from daemon.stores.sqlite.store import SqliteStore
from tests.power import within

FAULT, LOG_BYTES, RECORDER = "POWER_FAULT", "POWER_LOG_BYTES", "POWER_RECORDER"


def synchronous(level: int) -> None:
    """Let SQLite sync less, and believe it."""
    for name in ("WRITER_PRAGMAS", "READER_PRAGMAS"):
        setattr(connection, name, {**getattr(connection, name), "synchronous": level})


def commit_late(some: Callable[[Commit], bool]) -> None:
    """Go on at once where some things were to be committed, and commit them with what comes next of
    their run.
    """
    append, waiting = SqliteStore.append, dict[str, Commit]()

    async def late(store: SqliteStore, commit: Commit) -> None:
        before = waiting.pop(commit.run.id, None)
        if before is not None:
            await append(store, before)
        if some(commit):
            waiting[commit.run.id] = commit
        else:
            await append(store, commit)

    setattr(SqliteStore, "append", late)  # noqa: B010 - to mypy a method is no variable


def lets_a_call_go(commit: Commit) -> bool:
    """Whether a call is sent once this is committed."""
    cleared = (event.request for event in commit.events if isinstance(event, StepCleared))
    return any(request is not None and request.mode == "live" for request in cleared)


class Careless:
    """The module `os`, but that a sync does nothing."""

    def __getattr__(self, name: str) -> Any:
        return (lambda _descriptor: None) if name == "fsync" else getattr(os, name)


FAULTS: dict[str, Callable[[], None]] = {
    "synchronous=NORMAL": partial(synchronous, 1),
    "synchronous=OFF": partial(synchronous, 0),
    "reply before commit": partial(commit_late, lambda _commit: True),
    "call before commit": partial(commit_late, lets_a_call_go),
    "keys not synced": lambda: setattr(durable_files, "os", Careless()),
}


def main() -> int:
    """Run the commands of the command line, with "," between two."""
    if os.environ.get(RECORDER):
        within.watch()
    if os.environ.get(FAULT):
        FAULTS[os.environ[FAULT]]()
    if int(os.environ.get(LOG_BYTES, "0")):
        assert engine.LOG_BYTES_MAX, "nothing else decides how long the log grows"
        engine.LOG_BYTES_MAX = int(os.environ[LOG_BYTES])
    vars(passwords)["PasswordHasher"] = partial(PasswordHasher, time_cost=1, memory_cost=64, parallelism=1)
    for between, command in groupby(sys.argv[1:], lambda word: word == ","):
        code = 0 if between else app(list(command), standalone_mode=False)
        if code:
            return int(code)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The stores under contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from daemon.stores.postgres.store import PostgresStore
from daemon.stores.sqlite.store import SqliteStore
from daemon.stores.store import Store
from tests.histories import Clock
from tests.postgres import KEYS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.postgres import Server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest) -> tuple[str, tuple[Server, str] | None]:
    """Which store, and for the last one the server and the database to begin with; nobody else
    waits for a server.
    """
    if request.param != "postgres":
        return request.param, None
    return request.param, (request.getfixturevalue("postgres"), request.getfixturevalue("template"))


@pytest.fixture
async def store(shared: tuple[str, tuple[Server, str] | None], tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    _, place = shared
    if place is not None:
        server, template = place
        url = await server.made(template)
        async with PostgresStore.open(url, KEYS, clock=clock) as postgres:
            yield postgres
        await server.dropped(url)
    else:
        async with SqliteStore.open(tmp_path / "penstock.db", clock=clock) as sqlite:
            yield sqlite

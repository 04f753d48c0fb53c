"""Each test of the actors runs over every store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.actors.house import House, Store, house, stored


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with stored(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
async def home(store: Store) -> AsyncIterator[House]:
    built = await house(store)
    yield built
    built.journal.open.set()
    built.timers.close()
    await built.directory.drain(5)

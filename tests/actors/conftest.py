"""The store and the house that tests of the actors run in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.actors.house import House, Store, house


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(tmp_path / "penstock.db") as opened:
        yield opened


@pytest.fixture
async def home(store: Store) -> AsyncIterator[House]:
    built = await house(store)
    yield built
    built.journal.open.set()
    built.timers.close()
    await built.directory.drain(5)

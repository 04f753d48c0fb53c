"""Under systemd a start waits for its database, however long that is away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.crash.supervised import Manager, supervised
from tests.postgres import Server


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Manager]:
    (tmp_path / "templates").mkdir()
    manager = Manager(f"@{tmp_path.name}-{id(tmp_path)}")
    yield manager
    manager.close()


@pytest.fixture
async def url(postgres: Server, template: str) -> AsyncIterator[str]:
    made = await postgres.made(template)
    yield made
    await postgres.dropped(made)


async def waited(manager: Manager, tries: int) -> None:
    """Listen until the service has asked for more time so often."""
    while sum(line.startswith("EXTEND_TIMEOUT_USEC=") for line in manager.lines) < tries:
        await manager.hear()


async def test_a_start_waits_for_its_database_and_has_systemd_wait_too(
    tmp_path: Path, heard: Manager, postgres: Server, url: str
) -> None:
    name = url.rpartition("/")[2]
    await postgres.told(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    async with supervised(tmp_path, heard, PENSTOCK_DATABASE_URL=url) as process:
        await waited(heard, 3)
        assert any(line.startswith("STATUS=Waiting for the database: ") for line in heard.lines)
        assert "READY=1" not in heard.lines
        await postgres.told(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        await heard.until("READY=1")
        process.terminate()
        assert await process.wait() == 0


async def test_a_stop_ends_the_wait(tmp_path: Path, heard: Manager) -> None:
    nowhere = "postgresql://penstock@127.0.0.1:1/penstock"
    async with supervised(tmp_path, heard, PENSTOCK_DATABASE_URL=nowhere) as process:
        await waited(heard, 1)
        process.terminate()
        assert await process.wait() == 0

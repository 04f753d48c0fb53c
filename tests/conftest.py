"""What tests of several kinds share: a PostgreSQL for each worker, started when the first test asks
for it.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import settings

from daemon.stores.postgres.store import PostgresStore
from tests.postgres import KEYS, MEMORY, Server, server

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


ROOM_BYTES = 4 * 1024**3


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: much of what is tested waits for a disk, a browser or
    another process.
    """
    return (os.cpu_count() or 1) + 1


def pytest_configure() -> None:
    """Logs go to stderr, as a service's do: a command that runs beside one has stdout to itself.

    Folders of tests are in memory where that has room and runs programs: what a test asks of a disk
    it brings itself, and thousands of services wait for one otherwise. An example of a property may
    take as long as the machine lets it.
    """
    if os.access(MEMORY, os.W_OK):
        there = os.statvfs(MEMORY)
        if there.f_bavail * there.f_frsize >= ROOM_BYTES and not there.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    settings.register_profile("without a clock", settings(deadline=None))
    settings.load_profile("without a clock")
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.__stderr__))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the collector of garbage, which never has to look at thousands of tests: they
    stay to the end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running server."""
    with server() as one:
        yield one


@pytest.fixture(scope="session")
def template(postgres: Server) -> str:
    """The name of a database with the schema and nothing in it."""

    async def make() -> str:
        url = await postgres.made()
        async with PostgresStore.open(url, KEYS):
            pass
        return url.rpartition("/")[2]

    return asyncio.run(make())

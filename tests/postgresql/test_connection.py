"""A connection to a database that does not answer: nobody waits for it longer than once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from actors.ports import StoreFailed
from daemon.stores.postgres.connection import PostgresConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from daemon.stores.postgres.connection import Db

CONNECT_S = 0.5
PATIENCE_S = 20.0


class Silence:
    """Takes connections, and says nothing, or closes them."""

    def __init__(self) -> None:
        self.taken: list[asyncio.StreamWriter] = []
        self.port = 0
        self.refuses = False

    async def take(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.taken.append(writer)
        if self.refuses:
            writer.close()


@pytest.fixture
async def silence() -> AsyncIterator[Silence]:
    one = Silence()
    server = await asyncio.start_server(one.take, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    yield one
    server.close()
    for writer in one.taken:
        writer.close()


async def nothing(_db: Db) -> None:
    raise AssertionError


async def test_all_who_wait_in_line_for_a_database_that_does_not_answer_are_told_so_at_once(silence: Silence) -> None:
    connection = PostgresConnection(f"postgresql://penstock@127.0.0.1:{silence.port}/none", connect_s=CONNECT_S)
    told = await asyncio.gather(*(connection.use(nothing, writing=True) for _ in range(50)), return_exceptions=True)
    assert {(type(one), getattr(one, "outcome", None)) for one in told} == {(StoreFailed, "not_applied")}
    assert len(silence.taken) == 1


async def test_where_a_database_refuses_at_once_it_is_soon_asked_again(silence: Silence) -> None:
    silence.refuses = True
    connection = PostgresConnection(f"postgresql://penstock@127.0.0.1:{silence.port}/none")
    async with asyncio.timeout(PATIENCE_S):
        while len(silence.taken) < 3:
            with pytest.raises(StoreFailed):
                await connection.use(nothing)

"""A database of several hosts: the one that takes writes is found, whichever falls silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from urllib.parse import quote

import asyncpg
import pytest

from actors.ports import StoreFailed
from daemon.model import SchemaMismatch
from daemon.stores.postgres.connection import Db, PostgresConnection, check_sessions
from daemon.stores.postgres.hosts import hosts_of, parse_hosts
from daemon.stores.postgres.reader import reading
from tests.postgres import USER, Server, server, standby
from tests.postgresql.test_connection import Silence, silence

__all__ = ["silence"]
PATIENCE_S = 20.0


def url_of(*ports: int, query: str = "") -> str:
    return f"postgresql://{USER}@{','.join(f'127.0.0.1:{port}' for port in ports)}/postgres{query}"


@pytest.fixture
def pair() -> Iterator[tuple[Server, Server]]:
    """A primary, and a standby of it."""
    with server() as primary, standby(primary) as second:
        yield primary, second


@pytest.fixture
async def opened() -> AsyncIterator[list[PostgresConnection]]:
    made: list[PostgresConnection] = []
    yield made
    for one in made:
        await one.close()


async def port(db: Db) -> int:
    found: int = await db.fetchval("SELECT inet_server_port()")
    return found


@pytest.mark.parametrize(
    ("url", "environment", "hosts"),
    [
        ("postgresql://u@one,two:6000/db", {}, (("one", 5432), ("two", 6000))),
        ("postgresql://u@one,two:6000/db", {"PGPORT": "7000"}, (("one", 7000), ("two", 6000))),
        ("postgresql://u@one,two/db", {"PGPORT": "7000,7001"}, (("one", 7000), ("two", 7001))),
        ("postgresql://u:p%40%2C%2F@one,two/db", {}, (("one", 5432), ("two", 5432))),
        ("postgresql://one,two/db", {}, (("one", 5432), ("two", 5432))),
        ("postgresql://u@[::1]:6000,[fe80::2]/db", {}, (("::1", 6000), ("fe80::2", 5432))),
        ("postgresql://u@%2Frun%2Fa:6000,two/db", {}, (("/run/a", 6000), ("two", 5432))),
        ("postgresql:///db?host=/run/a,two&port=6000,7000", {}, (("/run/a", 6000), ("two", 7000))),
        ("postgresql:///db?host=one,two&port=6000", {}, (("one", 6000), ("two", 6000))),
        ("postgresql:///db", {"PGHOST": "one,two"}, (("one", 5432), ("two", 5432))),
        ("postgresql:///db?service=mine", {"PGHOST": "one,two"}, ()),
        ("postgresql://u@one/db?target_session_attrs=read-write", {"PGHOST": "two,three"}, ()),
        ("postgresql:///db", {}, ()),
    ],
)
def test_the_hosts_of_a_url_are_those_that_asyncpg_would_ask(
    url: str, environment: dict[str, str], hosts: tuple[tuple[str, int], ...]
) -> None:
    assert parse_hosts(url, environment) == hosts


@pytest.mark.parametrize("hosts", ["one,two:x", "u:se@cret:canary@one,two", "one:5²,two"])
def test_a_port_that_is_none_is_refused_without_a_word_of_the_url(hosts: str) -> None:
    with pytest.raises(ValueError, match="a port of the URL is no number"):
        parse_hosts(f"postgresql://{hosts}/db", {})


@pytest.mark.parametrize(
    "form",
    [
        "postgresql://penstock@127.0.0.1:1,127.0.0.1:{port}/postgres",
        "postgresql://penstock@127.0.0.1:{port},[::1]:1/postgres",
        "postgresql://penstock:p%40%3A%2F%2C@127.0.0.1:1,{quoted}:{port}/postgres?target_session_attrs=primary",
        "postgresql:///postgres?host={folder},127.0.0.1&port={port},1&user=penstock",
        "postgresql://penstock@/postgres?host={folder}&port={port}",
        "postgresql://penstock@/postgres",
    ],
)
async def test_a_server_is_reached_by_every_form_of_its_url(
    postgres: Server, opened: list[PostgresConnection], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("PGHOST", f"127.0.0.1,{postgres.folder}")
    monkeypatch.setenv("PGPORT", f"1,{postgres.port}" if "host" not in form and "127" not in form else "")
    url = form.format(port=postgres.port, folder=postgres.folder, quoted=quote(str(postgres.folder), safe=""))
    hosts_of.cache_clear()
    opened.append(PostgresConnection(url))
    assert await opened[0].use(lambda db: db.fetchval("SHOW port")) == str(postgres.port)
    assert await asyncio.to_thread(read_port, url) == str(postgres.port)


def read_port(url: str) -> str:
    with reading(url) as reader:
        found = reader.row("SHOW port")
    assert found is not None
    return str(found[0])


@pytest.mark.parametrize("wanted", ["standby", "read-only", "prefer-standby", "none"])
async def test_a_url_that_asks_for_a_standby_is_refused_with_the_cause(wanted: str) -> None:
    with pytest.raises(SchemaMismatch, match=f"target_session_attrs={wanted}.*read-write"):
        await check_sessions(url_of(1, 2, query=f"?target_session_attrs={wanted}"))


@pytest.mark.parametrize("first", [True, False])
async def test_a_host_that_takes_connections_and_stays_silent_keeps_nobody_from_the_other(
    postgres: Server, silence: Silence, opened: list[PostgresConnection], *, first: bool
) -> None:
    url = url_of(*((silence.port, postgres.port) if first else (postgres.port, silence.port)))
    opened += [PostgresConnection(url) for _ in range(5)]
    assert [await one.use(port) for one in opened] == [postgres.port] * 5
    assert len(silence.taken) == first  # whoever comes later asks the good one first


async def test_where_no_host_answers_it_is_told_within_the_shares(silence: Silence) -> None:
    connection = PostgresConnection(url_of(silence.port, 1), connect_s=2.0)
    with pytest.raises(StoreFailed) as told:
        await connection.use(port)
    assert told.value.outcome == "not_applied"
    assert len(silence.taken) == 1


@pytest.mark.parametrize("first", [True, False])
async def test_a_frozen_primary_is_left_for_the_promoted_standby(
    pair: tuple[Server, Server], opened: list[PostgresConnection], *, first: bool
) -> None:
    primary, second = pair
    url = url_of(*((primary.port, second.port) if first else (second.port, primary.port)), query="?sslmode=disable")
    opened += [PostgresConnection(url) for _ in range(3)]
    writing, reading, idle = opened
    assert [await one.use(port) for one in opened] == [primary.port] * 3
    primary.freeze()
    try:
        under_way = asyncio.gather(writing.use(port, writing=True), reading.use(port), return_exceptions=True)
        db = await asyncpg.connect(second.url())
        await db.execute("SELECT pg_promote()")
        await db.close()
        unknown, found = await under_way
        async with asyncio.timeout(PATIENCE_S):
            while found != second.port:
                with suppress(StoreFailed):
                    found = await reading.use(port)
        assert isinstance(unknown, StoreFailed)
        assert unknown.outcome == "unknown"
        assert await idle.use(port) == await writing.use(port) == second.port
    finally:
        primary.thaw()
        hosts_of.cache_clear()

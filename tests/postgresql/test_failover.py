"""A database that fails over: what is lost of what was acknowledged is told, and forks nothing."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import asyncpg
import pytest
from msgspec.structs import replace

from actors.ports import StoreFailed, VersionConflict
from daemon.model.audit_events import HistoryRewound, Logged
from daemon.model.webhooks import StoredWebhook, subscription_changed
from daemon.stores import codec
from daemon.stores.postgres.connection import PostgresConnection
from daemon.stores.postgres.store import PostgresStore
from daemon.stores.postgres.timelines import Timelines
from tests.histories import ACME, NOON, append, commit, decide, start, work
from tests.postgres import KEYS, Server, server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from daemon.model import LostHistory

PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    with server() as one:
        yield one


@pytest.fixture
async def url(own: Server) -> AsyncIterator[str]:
    made = await own.made()
    yield made
    await own.dropped(made)


def keep(one: Server) -> None:
    """Copy the data as a standby would have it that hears of nothing more."""
    one.stop(3)
    subprocess.run(["cp", "-a", one.folder / "data", one.folder / "standby"], check=True)
    one.start()


async def fail_over(one: Server) -> None:
    """Kill the server, and promote the standby in its place."""
    one.stop(3)
    shutil.rmtree(one.folder / "data")
    (one.folder / "standby").rename(one.folder / "data")
    (one.folder / "data" / "standby.signal").touch()
    one.start()
    await one.told("SELECT pg_promote()")


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 - what another loop does in its own time
            await asyncio.sleep(0.01)


async def reached(store: PostgresStore) -> None:
    """Wait until the store has its database again."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(StoreFailed):
                return await store.ping()
            await asyncio.sleep(0.01)


async def test_a_lost_verdict_is_told_and_nothing_follows_on_it(own: Server, url: str) -> None:
    rewound: list[LostHistory] = []
    async with PostgresStore.open(url, KEYS, on_rewound=rewound.append) as store:
        begun = start(gates=("signoff", "legal"))
        head = await store.append(begun)
        hook = StoredWebhook(ACME, "hook", "https://hooks.test", None, None, b"sealed", NOON, NOON, "ann")
        await store.add_webhook(hook, Logged(ACME, subscription_changed(None, hook, NOON, "ann", "session")), None)
        keep(own)
        await reached(store)
        approved = commit(begun.run, *decide(begun.run).events[:1])
        lost_head = await store.append(replace(approved, follows=head))
        await fail_over(own)
        await reached(store)
        async with PostgresStore.open(url, KEYS) as other:
            denied = decide(begun.run).events[:1]
            await append(other, commit(begun.run, *denied))
        with pytest.raises(VersionConflict):
            await store.append(replace(commit(approved.run), follows=lost_head))
        await until(lambda: bool(rewound))
        assert (rewound[0].commits, rewound[0].companies) == (1, 1)
        assert not store.held  # nothing is sent before the service has begun anew
        assert store.lost == rewound[0]
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):  # a look that finds the same loss tells nobody anew
                await store.compare_history(rewound.append)
        entries = await store.logged(ACME, None, 9)
        logged = [event for entry in entries for event in codec.decode_log(entry.events)]
        assert [event.commits for event in logged if isinstance(event, HistoryRewound)] == [1]
        (delivery,) = await store.deliveries(*hook.key, None, 9)
        assert (delivery.type, delivery.id) == ("history_rewound", f"msg_{ACME}_{entries[0].version}")


async def test_a_failover_that_loses_nothing_is_noted_and_the_work_goes_on(own: Server, url: str) -> None:
    rewound: list[LostHistory] = []
    async with PostgresStore.open(url, KEYS, on_rewound=rewound.append) as store:
        begun = start(gates=())
        head = await store.append(begun)
        keep(own)
        await fail_over(own)
        await reached(store)
        await until(lambda: store.held)
        await store.append(replace(work(begun.run), follows=head))
        assert rewound == []


async def test_what_is_open_to_a_server_before_a_failover_is_opened_anew(own: Server, url: str) -> None:
    timelines = Timelines()
    one = PostgresConnection(url, timelines=timelines)
    backend = partial(PostgresConnection.use, one, lambda db: db.fetchval("SELECT pg_backend_pid()"))
    first = await backend()
    assert await backend() == first
    timelines.rises += 1
    assert await backend() != first
    await one.close()


async def test_a_server_that_was_replaced_is_refused_after_a_restart_too(own: Server, url: str, tmp_path: Path) -> None:
    path = tmp_path / "database.timeline"
    db = await asyncpg.connect(url)
    await Timelines(path).check(db)
    seen = json.loads(path.read_text(encoding="utf-8"))
    await Timelines(path).check(db)
    path.write_text(json.dumps({**seen, "number": seen["number"] + 1}), encoding="utf-8")
    with pytest.raises(StoreFailed, match="another server has taken its place"):
        await Timelines(path).check(db)
    path.write_text(json.dumps({"system": "another", "number": 9}), encoding="utf-8")
    await Timelines(path).check(db)
    assert json.loads(path.read_text(encoding="utf-8")) == seen
    await db.close()

"""Names are looked up in threads that companies share, so that those of one never hold up
another's.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from threading import Event, Lock
from typing import Any

import pytest

from actors.context import set_log_context
from daemon.connectors.egress import DnsResolver

PATIENCE_S = 20.0
THREADS, SHARE = 6, 2


class Deaf:
    """The system's resolver, which answers for `*.slow.test` only when it is told to."""

    def __init__(self) -> None:
        self.told = Event()
        self.under_way: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.asked = Event()
        self._lock = Lock()

    def look_up(self, host: str, *_: Any) -> list[Any]:
        if not host.endswith(".slow.test"):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.7", 80))]
        whose = host.split(".")[1]
        with self._lock:
            self.under_way[whose] += 1
            self.most[whose] = max(self.most[whose], self.under_way[whose])
        self.asked.set()
        self.told.wait(PATIENCE_S)
        with self._lock:
            self.under_way[whose] -= 1
        raise socket.gaierror(socket.EAI_AGAIN, "nobody answered")


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    one = Deaf()
    yield one
    one.told.set()


@pytest.fixture
async def lookups(deaf: Deaf) -> AsyncIterator[DnsResolver]:
    one = DnsResolver(THREADS, SHARE, deaf.look_up)
    yield one
    deaf.told.set()
    await one.close()


async def ask(lookups: DnsResolver, company: str, host: str) -> list[str]:
    set_log_context(company_id=company)
    return [one["host"] for one in await lookups.resolve(host, 80)]


async def test_names_that_nobody_answers_for_hold_up_no_other_company(lookups: DnsResolver, deaf: Deaf) -> None:
    slow = [asyncio.create_task(ask(lookups, "acme", f"{n}.acme.slow.test")) for n in range(3 * THREADS)]
    await asyncio.to_thread(deaf.asked.wait, PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.create_task(ask(lookups, "other", "quick.test")) == ["203.0.113.7"]
    assert not any(task.done() for task in slow)
    deaf.told.set()
    failed = await asyncio.gather(*slow, return_exceptions=True)
    assert {type(one) for one in failed} == {socket.gaierror}
    assert deaf.most["acme"] <= SHARE


async def test_a_thread_counts_until_it_ends_whoever_has_given_up(lookups: DnsResolver, deaf: Deaf) -> None:
    async def impatient(name: str) -> None:
        task = asyncio.create_task(ask(lookups, "acme", name))
        await asyncio.to_thread(deaf.asked.wait, PATIENCE_S)
        deaf.asked.clear()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    for n in range(SHARE):
        await impatient(f"{n}.acme.slow.test")
    waiting = asyncio.create_task(ask(lookups, "acme", "quick.test"))
    assert await asyncio.create_task(ask(lookups, "other", "quick.test")) == ["203.0.113.7"]
    assert not waiting.done()
    deaf.told.set()
    async with asyncio.timeout(PATIENCE_S):
        assert await waiting == ["203.0.113.7"]


async def test_the_system_is_asked_for_both_kinds_of_addresses() -> None:
    lookups = DnsResolver()
    found = await lookups.resolve("localhost", 8080, socket.AF_UNSPEC)
    await lookups.close()
    assert {one["host"] for one in found} <= {"127.0.0.1", "::1"}
    assert {(one["hostname"], one["port"]) for one in found} == {("localhost", 8080)}


async def test_nothing_is_looked_up_once_they_are_closed(lookups: DnsResolver) -> None:
    await lookups.close()
    with pytest.raises(OSError, match="any more"):
        await lookups.resolve("quick.test", 80)

"""What `make cluster` counts is seen to be counted: a write of a daemon that is gone, where the
fence is broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from daemon.stores.postgres.lease import Fenced
from daemon.stores.postgres.store import PostgresStore
from tests.cluster.watching import Watch, broken_append
from tests.histories import append, decide, start
from tests.postgres import KEYS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.postgres import Server

FENCE = """    IF NOT FOUND THEN
        RETURN;
    END IF;
"""


@pytest.fixture
async def url(postgres: Server, template: str) -> AsyncIterator[str]:
    made = await postgres.made(template)
    yield made
    await postgres.dropped(made)


@pytest.mark.parametrize("broken", [False, True])
async def test_a_write_of_a_daemon_that_is_gone_is_refused_and_else_it_is_noticed(url: str, broken: bool) -> None:
    watch = Watch(url)
    await watch.trap()
    if broken:
        await watch.told(broken_append(FENCE))
    async with PostgresStore.open(url, KEYS) as store:
        begun = start()
        await store.append(begun)
        assert await watch.fenced_writes() == 0
        await watch.told("DELETE FROM daemons")
        if broken:
            await append(store, decide(begun.run))
        else:
            with pytest.raises(Fenced):
                await append(store, decide(begun.run))
    assert await watch.fenced_writes() == int(broken)

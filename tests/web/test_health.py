"""What /health says, and that it costs nothing: it writes nothing, waits for nothing, and is right
all the same.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.web.support import PATIENCE_S, Answer, House, Person

pytestmark = [pytest.mark.one_daemon, pytest.mark.sqlite]
ASKED = 50


async def health_until(house: House, store: str) -> Answer:
    async with asyncio.timeout(PATIENCE_S):
        while (answer := await house.send("GET", "/health")).json["store"] != store:
            pass
    return answer


async def test_however_often_it_is_asked_nothing_is_written(house: House) -> None:
    log = house.settings.data_dir / "penstock.db-wal"
    before = None
    async with asyncio.timeout(PATIENCE_S):
        while before != log.read_bytes():  # what a start begins in the background ends meanwhile
            before = log.read_bytes()
            for _ in range(ASKED):
                assert (await house.send("GET", "/health")).status == 200


async def test_it_answers_at_once_while_the_disk_does_not(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.stores.group_commit.STALLED_S", 0.0)
    writer: Any = house.services.store._writer  # type: ignore[attr-defined]
    reached, released = threading.Event(), threading.Event()

    async def hang(_: Any) -> None:
        reached.set()
        released.wait(PATIENCE_S)

    hanging = asyncio.create_task(writer.submit(hang))
    try:
        await asyncio.to_thread(reached.wait, PATIENCE_S)
        answer = await house.send("GET", "/health")
        assert (answer.status, answer.json["status"], answer.json["store"]) == (503, "stalled", "stalled")
    finally:
        released.set()
    await hanging
    assert (await health_until(house, "ok")).status == 200


async def test_a_write_that_failed_is_told_until_one_succeeds_though_nobody_writes(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: Any = house.services.store._writer._engine  # type: ignore[attr-defined]
    with monkeypatch.context() as full:
        full.setattr(engine, "_free_bytes_min", 10**18)  # so much room no disk has
        assert (await ann.post("/process-runs/", {"vertical": "quick"})).status == 503
        answer = await house.send("GET", "/health")
        assert (answer.status, answer.json["status"], answer.json["store"]) == (503, "full", "full")
    assert (await health_until(house, "ok")).status == 200


async def test_a_store_that_has_failed_for_good_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    writer: Any = house.services.store._writer  # type: ignore[attr-defined]

    async def fail(_: Any) -> Any:
        raise OSError("the disk has gone")

    monkeypatch.setattr(writer._engine, "apply", fail)
    with pytest.raises(Exception, match="failed while it was writing"):
        await house.services.store.ping()
    answer = await house.send("GET", "/health")
    assert (answer.status, answer.json["status"], answer.json["store"]) == (503, "failed", "failed")

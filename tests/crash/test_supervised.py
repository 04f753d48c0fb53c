"""Under systemd: it says when it is ready, that it is alive and that it stops, and nobody is
refused meanwhile.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from daemon.runtime.systemd import SystemdEnvironment
from tests.crash.service import PATIENCE_S
from tests.crash.supervised import Manager, listener, supervised

CALLERS = 16
ANSWERED = 200
STOPPED_WITHIN_S = 10.0


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    one = Manager(str(tmp_path / "notify") if request.param == "path" else f"@penstock-test{tmp_path}")
    yield one
    one.close()


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Manager]:
    one = Manager(str(tmp_path / "notify"))
    yield one
    one.close()


async def health(port: int) -> tuple[int, str]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /health HTTP/1.1\r\nHost: penstock\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1]), answer.decode()


async def test_it_is_ready_once_it_has_recovered_and_listens(folder: Path, manager: Manager) -> None:
    async with supervised(folder, manager) as process:
        await manager.until("READY=1")
        assert '"event": "recovered"' in (folder / "service.log").read_text(encoding="utf-8")
        (serving,) = [line for line in manager.lines if line.startswith("STATUS=Serving on http://127.0.0.1:")]
        assert (await health(int(serving.rpartition(":")[2])))[0] == 200
        process.terminate()
        await manager.until("STOPPING=1")
        await manager.until("STATUS=Stopped with exit code 0")
        assert await process.wait() == 0
    assert manager.lines.index("READY=1") > manager.lines.index("STATUS=Opening the store and taking up runs")


async def test_a_service_that_may_not_start_never_says_that_it_is_ready(folder: Path, heard: Manager) -> None:
    (folder / "templates" / "broken.yaml").write_text("vertical: 1", encoding="utf-8")
    async with supervised(folder, heard) as process:
        assert await process.wait() == 78
    await heard.hear()
    assert heard.lines == ["STATUS=Opening the store and taking up runs"]
    with pytest.raises(BlockingIOError):
        heard._socket.recv(1)


async def test_the_watchdog_is_fed_as_long_as_the_store_answers(folder: Path, heard: Manager) -> None:
    silent = "STATUS=The store does not answer"
    async with supervised(folder, heard, WATCHDOG_USEC="200000") as process:
        await heard.until("READY=1")
        await heard.until("WATCHDOG=1")
        await heard.until("WATCHDOG=1")
        with closing(sqlite3.connect(folder / "data" / "penstock.db", isolation_level=None)) as intruder:
            intruder.execute("BEGIN IMMEDIATE")
            await heard.until(silent)
            assert [await heard.hear() for _ in range(3)] == [[silent]] * 3
            intruder.execute("ROLLBACK")
        while "WATCHDOG=1" not in (lines := await heard.hear()):
            assert lines == [silent]
        assert lines[1].startswith("STATUS=Serving on ")
        process.terminate()
        assert await process.wait() == 0


async def test_a_manager_that_does_not_listen_hurts_nobody(folder: Path, heard: Manager) -> None:
    handed = listener()
    heard.close()
    async with supervised(folder, heard, handed) as process:
        assert (await health(handed.getsockname()[1]))[0] == 200
        process.terminate()
        assert await process.wait() == 0
    handed.close()


async def test_nobody_is_refused_while_the_service_restarts(folder: Path, heard: Manager) -> None:
    handed = listener()
    port = handed.getsockname()[1]
    answers: Counter[int] = Counter()
    more, over = asyncio.Event(), False

    async def caller() -> None:
        while not over:
            status, text = await health(port)
            assert status == 200 or '"draining"' in text, text
            answers[status] += 1
            more.set()

    async def answered(number: int) -> None:
        goal = answers[200] + number
        async with asyncio.timeout(PATIENCE_S):
            while answers[200] < goal:
                more.clear()
                await more.wait()

    callers = [asyncio.create_task(caller()) for _ in range(CALLERS)]  # before anybody serves: they wait
    for _ in range(2):
        async with supervised(folder, heard, handed) as process:
            await heard.until("READY=1")
            await answered(ANSWERED)
            process.terminate()
            async with asyncio.timeout(STOPPED_WITHIN_S):
                assert await process.wait() == 0
    async with supervised(folder, heard, handed):
        await heard.until("READY=1")
        await answered(ANSWERED)
        over = True
        ended: list[Any] = await asyncio.gather(*callers, return_exceptions=True)
    handed.close()
    assert ended == [None] * CALLERS


async def test_whoever_connects_during_the_stop_is_served_by_the_next_process(folder: Path, heard: Manager) -> None:
    handed = listener()
    port = handed.getsockname()[1]
    half = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    async with supervised(folder, heard, handed) as process:
        await heard.until("READY=1")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(half)  # keeps the stop waiting for the rest
        assert (await health(port))[0] == 200
        process.terminate()
        await heard.until("STOPPING=1")
        waiting = asyncio.create_task(health(port))
        answer = (await reader.read()).decode()
        assert answer.startswith("HTTP/1.1 503 ")
        assert '"code":"draining"' in answer
        assert '"outcome":"not_applied"' in answer
        assert "connection: close" in answer.lower()
        writer.close()
        assert await process.wait() == 0
    assert not waiting.done()
    async with supervised(folder, heard, handed):
        assert (await waiting)[0] == 200
    handed.close()


async def test_whoever_has_connected_and_not_yet_asked_is_still_answered(folder: Path, heard: Manager) -> None:
    handed = listener()
    port = handed.getsockname()[1]
    async with supervised(folder, heard, handed) as process:
        await heard.until("READY=1")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert (await health(port))[0] == 200  # connected later, so the one above is no longer in the queue
        process.terminate()
        await heard.until("STOPPING=1")
        writer.write(b"GET /health HTTP/1.1\r\nHost: penstock\r\n\r\n")
        assert b'"status":"draining"' in await reader.read()
        writer.close()
        assert await process.wait() == 0
    handed.close()


@pytest.mark.parametrize(
    ("variables", "alive_s"),
    [
        ({"watchdog_usec": 30_000_000}, 30.0),
        ({"watchdog_usec": 30_000_000, "watchdog_pid": 1}, None),
        ({"watchdog_usec": 0}, None),
        ({}, None),
    ],
)
def test_only_the_process_that_is_meant_is_watched(variables: dict[str, int], alive_s: float | None) -> None:
    assert SystemdEnvironment(**variables).watchdog_s == alive_s  # type: ignore[arg-type]


def test_sockets_that_were_handed_to_another_process_are_left_alone() -> None:
    assert list(SystemdEnvironment(listen_fds=2, listen_pid=1).sockets) == []

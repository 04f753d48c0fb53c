"""A process for work that nothing else bounds: answered, bounded, and gone with the service."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.runtime.worker_process import SIZE_BYTES, WORN
from daemon.runtime.workers import Worker, WorkerFailed

MODULE = "daemon.evaluation.worker"
PATIENCE_S = 30.0
QUICK = b'["signal", "response.body.a", [200, {"a": 7}]]'
LONG = b'["signal", "response.body.s.matches(response.body.p)", [200, {"s": "%s", "p": "%s"}]]' % (
    b"a" * 100_000,
    b"(a?){100}" * 900,
)
ORPHAN = f"""
import asyncio, os, signal
from daemon.runtime.workers import Worker

async def leave():
    worker = Worker({MODULE!r})
    await worker.ask({QUICK!r})
    asyncio.get_running_loop().create_task(worker.ask({LONG!r}))
    await asyncio.sleep(0)
    print(worker.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(leave())
"""


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    one = Worker(MODULE)
    yield one
    await one.close()


async def test_a_process_answers_and_stays_for_the_next_request(worker: Worker) -> None:
    assert worker.pid is None
    assert await worker.ask(QUICK) == b"+7"
    first = worker.pid
    assert [await worker.ask(QUICK) for _ in range(2)] == [b"+7", b"+7"]
    assert worker.pid == first != os.getpid()


async def test_an_answer_that_is_too_long_is_no_answer_and_nothing_waits_for_it() -> None:
    small, text = Worker(MODULE, answer_bytes_max=100), b"x" * 200_000
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(WorkerFailed):
            await small.ask(b'["mapped", {"a": "s"}, {"s": "%s"}]' % text)
        assert await small.ask(QUICK) == b"+7"
        await small.close()


async def test_what_takes_too_long_is_ended_and_the_next_request_has_a_new_process(worker: Worker) -> None:
    assert await worker.ask(QUICK) == b"+7"
    first = worker.pid
    with pytest.raises(WorkerFailed):
        await worker.ask(LONG)
    assert await worker.ask(QUICK) == b"+7"
    assert worker.pid not in {None, first}


async def test_what_takes_too_long_by_the_clock_is_ended() -> None:
    worker = Worker(MODULE, wall_s=0.0)
    with pytest.raises(WorkerFailed):
        await worker.ask(QUICK)
    assert worker.pid is None


async def test_a_request_that_is_given_up_leaves_no_answer_to_the_next(worker: Worker) -> None:
    assert await worker.ask(QUICK) == b"+7"
    given_up = asyncio.create_task(worker.ask(LONG))
    await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert await worker.ask(QUICK) == b"+7"


async def test_a_process_that_was_ended_from_outside_is_started_anew(worker: Worker) -> None:
    await worker.ask(QUICK)
    assert worker.pid is not None
    handle = os.pidfd_open(worker.pid)
    os.kill(worker.pid, signal.SIGTERM)  # the stop of a unit reaches all its processes
    assert await worker.ask(QUICK) == b"+7"
    os.kill(worker.pid, signal.SIGKILL)
    assert select.select([handle], [], [], PATIENCE_S)[0]
    os.close(handle)
    with pytest.raises(WorkerFailed):
        await worker.ask(QUICK)
    assert await worker.ask(QUICK) == b"+7"


async def test_the_process_has_nothing_of_the_environment(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_DATABASE_URL", "canary")
    await worker.ask(QUICK)
    assert await asyncio.to_thread(Path(f"/proc/{worker.pid}/environ").read_bytes) == b""


def test_the_process_ends_with_a_service_that_is_killed() -> None:
    said = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE)
    assert said.stdout is not None
    pid = int(said.stdout.readline())
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    finally:
        said.communicate(timeout=PATIENCE_S)
    assert select.select([handle], [], [], PATIENCE_S)[0]
    os.close(handle)


GROWING = """
from daemon.runtime.worker_process import serve
kept = []

def answer(request):
    kept.append(b"x" * int(request))
    return b"done"

serve(answer)
"""


def test_a_process_that_has_grown_says_so_and_one_that_has_not_does_not() -> None:
    asked = [b"1000", b"60000000"]
    sent = b"".join(len(one).to_bytes(SIZE_BYTES) + one for one in asked)
    got = subprocess.run([sys.executable, "-c", GROWING], input=sent, capture_output=True, check=True).stdout
    heads = [int.from_bytes(got[at : at + SIZE_BYTES]) for at in (0, SIZE_BYTES + 4)]
    assert heads == [4, 4 | WORN]

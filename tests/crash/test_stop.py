"""SIGTERM with every kind of caller there: ten seconds at most, and each of them knows where they
are.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.service import FarSide, Service, serving, together

STOPPED_WITHIN_S = 10.0
# A name that no server answers for is looked up by a thread that cannot be called off; this one is
# as deaf.
DEAF = """
import threading, time
threading.Thread(target=time.sleep, args=(120,)).start()
from daemon.cli import app
app()
"""
HELD, STUCK = 60, 10
IDLE, STREAMS, CALLERS = 20, 10, 8


class Hole:
    """A server that takes everything and answers nothing."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.server: asyncio.Server
        self._writers: list[asyncio.StreamWriter] = []

    async def swallow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        self.reached.set()
        await reader.read()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
        self.server.close()
        await self.server.wait_closed()


@pytest.fixture
async def hole() -> AsyncIterator[Hole]:
    one = Hole()
    one.server = await asyncio.start_server(one.swallow, "127.0.0.1", 0)
    yield one
    await one.close()


class Line:
    """A connection on which a caller writes what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, service: Service, *parts: str, token: str = "") -> Line:
        host, port = service.address.removeprefix("http://").split(":")
        line = cls(*await asyncio.open_connection(host, int(port)))
        bearer = f"Authorization: Bearer {token}\r\n" if token else ""
        line.writer.write("".join(parts).replace("\r\n", f"\r\nHost: x\r\n{bearer}", 1).encode())
        return line

    async def answer(self) -> tuple[int, bytes]:
        """One answer with a Content-Length: its status and body."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        (length,) = (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return int(head.split(b" ", 2)[1]), await self.reader.readexactly(length)

    async def rest(self) -> bytes:
        """Whatever still comes, until the service closes the connection."""
        rest = await self.reader.read()
        self.writer.close()
        return rest


async def resuming(service: Service, run_ids: list[str], statuses: Counter[int]) -> None:
    """Give verdicts, one after the other, until the service says that it is stopping."""
    for run_id in run_ids:
        body = {"gate": "signoff", "decision": "approved"}
        status, answer = await service.send("POST", f"/process-runs/{run_id}/resume", body)
        statuses[status] += 1
        if status == 503:
            assert (answer["code"], answer["outcome"]) == ("draining", "not_applied")
            return


async def prepared(service: Service, far_side: FarSide, hole: Hole) -> tuple[list[str], list[asyncio.Task[Any]]]:
    """Parked runs, callers who wait for calls that hang, and one who tries a connector that
    hangs.
    """
    await service.register()
    await service.connect(far_side, "slow-work")
    how = {"base_url": hole.address, "path": "/", "method": "POST", "reversible": True, "timeout_s": 60}
    assert (await service.send("PUT", "/connectors/hole", how))[0] == 201
    held = [run["id"] for run in await service.start("held", HELD)]
    start = {"vertical": "busy"}
    waiting = [
        asyncio.create_task(service.send("POST", "/process-runs/", start, Prefer="wait=60")) for _ in range(STUCK)
    ]
    waiting.append(asyncio.create_task(service.send("POST", "/connectors/hole/test", {**how, "send": True})))
    await far_side.reached(STUCK)
    await hole.reached.wait()
    return held, waiting


async def test_sigterm_answers_every_kind_of_caller_in_ten_seconds(folder: Path, far_side: FarSide, hole: Hole) -> None:
    statuses: Counter[int] = Counter()
    async with serving(folder) as service:
        held, waiting = await prepared(service, far_side, hole)
        idle = await together(Line.to(service, "GET /health HTTP/1.1\r\n\r\n") for _ in range(IDLE))
        assert {(await line.answer())[0] for line in idle} == {200}
        stream = f"GET /process-runs/{held[-1]}/events HTTP/1.1\r\nAccept: text/event-stream\r\n\r\n"
        streams = await together(Line.to(service, stream, token=service.token) for _ in range(STREAMS))
        for line in streams:
            await line.reader.readuntil(b"event: gate_opened")
        head = await Line.to(service, "GET /health HT")
        json_body = "Content-Type: application/json\r\nContent-Length: 100"
        body = await Line.to(service, f"POST /process-runs/ HTTP/1.1\r\n{json_body}\r\n\r\n{{", token=service.token)
        assert (await service.send("GET", "/health"))[0] == 200  # so all of the above have arrived
        callers = [asyncio.create_task(resuming(service, held[n:-1:CALLERS], statuses)) for n in range(CALLERS)]
        service.process.terminate()
        async with asyncio.timeout(STOPPED_WITHIN_S):
            assert await service.process.wait() == 0

        answers = await asyncio.gather(*waiting)
        assert [status for status, _ in answers] == [202] * STUCK + [503]
        assert {run["status"] for _, run in answers[:-1]} == {"executing"}
        trial = answers[-1][1]
        assert (trial["code"], trial["outcome"], trial["retryable"]) == ("draining", "unknown", True)
        status, problem = await body.answer()
        assert (status, json.loads(problem)["code"], json.loads(problem)["outcome"]) == (503, "draining", "not_applied")
        assert {await line.rest() for line in idle} == {b""}
        for line in streams:
            assert (await line.rest()).endswith(b"0\r\n\r\n")  # a whole answer, not a cut one
        for line in (head, body):
            await line.rest()
        await asyncio.gather(*callers)
    assert set(statuses) <= {200, 503}
    assert "Traceback" not in service.log.read_text(encoding="utf-8")


async def test_a_name_that_is_still_looked_up_does_not_hold_up_the_end(folder: Path) -> None:
    async with serving(folder, program=(sys.executable, "-c", DEAF)) as service:
        service.process.terminate()
        async with asyncio.timeout(STOPPED_WITHIN_S):
            assert await service.process.wait() == 0
    assert '"stopped"' in service.log.read_text(encoding="utf-8")

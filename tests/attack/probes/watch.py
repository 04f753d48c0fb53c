"""`python -m tests.attack.probes.watch PORT PID FILE`: measures a service from outside.

Asks for its health on new connections, drives another company's runs at a modest pace, and adds up
the memory of the process and its children. Requests leave at their time, whether or not earlier
ones were answered, so that a pause counts for as long as it lasts.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TextIO

from tests.attack.wire import Answer, read
from tests.load.pump import wire

HEALTH_S, LOOP_S, MEMORY_S = 0.05, 0.2, 0.1
PATIENCE_S = 30.0
UNDERWAY_MAX = 400
MB = 1_048_576
START = {"vertical": "prior-auth", "inputs": {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "G43.909"}}
LEAST_NICE = -10


class Watch:
    """One service, and the file of what was seen of it."""

    def __init__(self, port: int, pid: int, file: TextIO) -> None:
        self._port = port
        self._pid = pid
        self._file = file
        self._token = ""

    async def register(self) -> None:
        body = {"email": "bystander@attack.test", "password": "correct horse", "company_name": "Bystander"}
        async with Line(self._port) as line:
            answer = await line.ask("POST", "/auth/register", body)
        assert answer is not None
        self._token = answer.json["token"]

    async def health(self) -> None:
        """Ask once, on a new connection."""
        await self._timed("health", self._health())

    async def loop(self) -> None:
        """Start a run, read it, and close its gate; each request is timed."""
        with suppress(OSError):
            async with Line(self._port, self._token) as line:
                run = await self._timed("other", line.ask("POST", "/process-runs/", START))
                if run is not None and run.status == 201:
                    path = f"/process-runs/{run.json['id']}"
                    await self._timed("other", line.ask("GET", path))
                    verdict = {"gate": run.json["parked_at"], "decision": "approved"}
                    await self._timed("other", line.ask("POST", f"{path}/resume", verdict))
            return
        self._note("other", PATIENCE_S * 1000, time.monotonic(), ok=False)

    async def memory(self) -> None:
        family = [pid for pid in _family(self._pid) if pid == self._pid or _program(pid) != _program(self._pid)]
        pages = [_pages(pid, own=pid != self._pid) for pid in family]
        sizes = [count * os.sysconf("SC_PAGESIZE") / MB for count in pages]
        self._note("memory", sum(sizes), time.monotonic())
        self._note("children", sum(sizes[1:]), time.monotonic())

    async def _health(self) -> Answer | None:
        async with Line(self._port) as line:
            return await line.ask("GET", "/health")

    async def _timed(self, what: str, asking: Awaitable[Answer | None]) -> Answer | None:
        began, answer, ok = time.monotonic(), None, False
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    answer = await asking
            ok = answer is not None and 200 <= answer.status < 300
        except asyncio.CancelledError:  # the end: it has waited for so long, and that counts
            ok = True
            raise
        finally:
            self._note(what, (time.monotonic() - began) * 1000, began, ok=ok)
        return answer

    def _note(self, what: str, figure: float, at: float, *, ok: bool = True) -> None:
        self._file.write(json.dumps({"what": what, "at": at, "figure": round(figure, 2), "ok": ok}) + "\n")
        self._file.flush()


class Line:
    """A connection that is kept for several requests."""

    def __init__(self, port: int, token: str = "") -> None:
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=4 * MB)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()

    async def ask(self, method: str, path: str, body: Any = None) -> Answer | None:
        raw = b"" if body is None else json.dumps(body).encode()
        self._writer.write(wire(method, path, raw, self._headers))
        return await read(self._reader)


def _family(pid: int) -> list[int]:
    """The process and all below it."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found.extend(map(int, children.read_text(encoding="ascii").split()))
    return found


def _program(pid: int) -> bytes:
    """What a process runs; one that was just forked runs what its parent does, in its pages."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _pages(pid: int, *, own: bool) -> int:
    """The pages that a process has in memory; `own` without those of files, which it shares."""
    with suppress(OSError):
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split())
        return resident - shared if own else resident
    return 0


async def _every(every_s: float, work: Callable[[], Awaitable[None]]) -> None:
    """Begin `work` at a steady pace, up to a number at once."""
    underway: set[asyncio.Task[None]] = set()
    due = time.monotonic()
    while True:
        if len(underway) < UNDERWAY_MAX:
            task = asyncio.ensure_future(work())
            underway.add(task)
            task.add_done_callback(underway.discard)
        due = max(due + every_s, time.monotonic() - 1.0)
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def main(port: int, pid: int, path: Path) -> None:
    with path.open("w", encoding="ascii") as file:
        watch = Watch(port, pid, file)
        await watch.register()
        sys.stdout.write(f"Watches 127.0.0.1:{port}\n")
        sys.stdout.flush()
        measuring = asyncio.gather(
            _every(HEALTH_S, watch.health), _every(LOOP_S, watch.loop), _every(MEMORY_S, watch.memory)
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, measuring.cancel)
        with suppress(asyncio.CancelledError):
            await measuring
        underway = asyncio.all_tasks() - {asyncio.current_task()}
        for task in underway:
            task.cancel()
        await asyncio.gather(*underway, return_exceptions=True)


if __name__ == "__main__":
    with suppress(PermissionError):
        os.nice(LEAST_NICE)
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))

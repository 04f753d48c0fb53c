"""Runs work that nothing else bounds in a process of its own, which may be killed."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress

from daemon.runtime.worker_process import SIZE_BYTES, WORN

ANSWER_BYTES_MAX = 64 * 1024
WALL_S = 15.0
GRACE_S = 0.5


class WorkerFailed(Exception):
    """There is no answer: the process was ended by a bound or a fault, or could not be started."""


class Worker:
    """One process that answers one request at a time.

    It is started with its first request, and anew after its end, or when it says that it has grown.
    It gets no variables of the environment and no open files, so that no secret of the service is
    in it.
    """

    def __init__(self, module: str, wall_s: float = WALL_S, *, answer_bytes_max: int = ANSWER_BYTES_MAX) -> None:
        """`module` calls `worker_process.serve`; `wall_s` bounds one answer, the start included."""
        self._answer_bytes_max = answer_bytes_max
        self._module = module
        self._wall_s = wall_s
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def ask(self, request: bytes) -> bytes:
        """The answer to a request; WorkerFailed when it is over a bound."""
        answer, worn = None, True
        try:
            async with asyncio.timeout(self._wall_s):
                answer, worn = await self._exchange(request)
        except (OSError, asyncio.IncompleteReadError):  # a TimeoutError is an OSError, too
            raise WorkerFailed from None
        finally:
            if worn:  # what it may still answer belongs to nobody
                await self.close()
        return answer

    async def close(self) -> None:
        """End the process: by the end of its input, or by force if it is at work."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), GRACE_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            # It ends for the loop only when all that it wrote was read.
            await process.communicate()

    async def _exchange(self, request: bytes) -> tuple[bytes, bool]:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-m", self._module, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}
            )
        source, target = self._process.stdin, self._process.stdout
        assert source is not None  # noqa: S101 - it was asked for
        assert target is not None  # noqa: S101 - it was asked for
        source.write(len(request).to_bytes(SIZE_BYTES) + request)
        await source.drain()
        head = int.from_bytes(await target.readexactly(SIZE_BYTES))
        size, worn = head & ~WORN, bool(head & WORN)
        if size > self._answer_bytes_max:
            raise WorkerFailed
        return await target.readexactly(size), worn

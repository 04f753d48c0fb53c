"""A program of ours in a process of its own, for as long as it is wanted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path

STARTED_S = 180.0  # under Valgrind a start takes a minute and more
STOPPED_S = 30.0


@asynccontextmanager
async def announced(
    *arguments: str,
    env: Mapping[str, str],
    log: Path | None = None,
    cwd: Path | None = None,
    under: Sequence[str] = (),
    python: str = sys.executable,
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """Run `python -m` with these until it is no longer needed, perhaps in another folder and under
    another program: the process, and the port that it has named.
    """
    with log.open("wb") if log is not None else nullcontext() as errors:
        process = await asyncio.create_subprocess_exec(
            *(*under, python, "-m", *arguments), stdout=asyncio.subprocess.PIPE, stderr=errors, env=env, cwd=cwd
        )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(STARTED_S):
            line = (await process.stdout.readline()).decode()
        yield process, int(line.rsplit(":", 1)[1])
    finally:
        await stopped(process)


async def stopped(process: asyncio.subprocess.Process) -> None:
    """Ask a process to end, and kill it where it does not."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOPPED_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()

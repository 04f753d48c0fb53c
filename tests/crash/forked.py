"""The test build in processes that are forked from one that has loaded everything: a start costs
next to nothing.

What is the same at every start is done once, as in tests/web: templates are read, and passwords are
hashed as cheaply as argon2 allows.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import cast

import aiohttp
import typer
from argon2 import PasswordHasher

import daemon
from actors import failpoints
from daemon.cli import serving
from daemon.identity import passwords
from daemon.templates import loading
from tests.crash.build import deadly
from tests.crash.service import PATIENCE_S, Service, environment

# More steps than one turn takes.
LONG = (
    "vertical: long\nversion: 1\ntitle: Long\ndescription: Many steps.\n"
    "inputs_schema: {type: object}\nexample: {}\nsteps:\n"
    + "".join(
        f"  - {{id: s{n}, kind: task, label: Step, tool: look, effect: read, next: s{n + 1}}}\n" for n in range(205)
    )
    + "  - {id: s205, kind: end, label: Over, outcome: over}\n"
)
_texts = (
    LONG,
    *(path.read_text(encoding="utf-8") for path in Path(daemon.__path__[0], "templates", "shipped").glob("*/*.yaml")),
)
KNOWN = {text: loading.load_text(text, "known") for text in _texts}
_forge = get_context("forkserver")
_forge.set_forkserver_preload(["tests.crash.forked"])


class Forked:
    """A process, waited for as asyncio's own are."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()

    async def wait(self) -> int:
        await _readable(self._process.sentinel)
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


async def _readable(descriptor: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await ready.wait()
    finally:
        loop.remove_reader(descriptor)


def _live(settings: dict[str, str], spec: str, while_starting: bool, say: Connection, log: Path) -> None:
    """Be the service; the failpoint is armed from the start, or once it serves."""
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), sys.stderr.fileno())
    load = loading.load_text
    setattr(loading, "load_text", lambda text, name, **how: KNOWN.get(text) or load(text, name, **how))  # noqa: B010 - as below
    cheap = partial(PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    setattr(passwords, "PasswordHasher", cheap)  # noqa: B010 - in this process alone

    def arm() -> None:
        if spec:
            failpoints.arm(deadly(spec))

    def announce(address: str) -> None:
        if not while_starting:
            arm()
        say.send(address)

    if while_starting:
        arm()
    os.environ.update(settings)
    setattr(serving, "_announce", announce)  # noqa: B010 - in this process alone
    try:
        serving.serve(port=0)
    except typer.Exit as ended:
        sys.exit(ended.exit_code)


@asynccontextmanager
async def forked(folder: Path, spec: str = "", *, while_starting: bool = False) -> AsyncIterator[Service]:
    """A service on the folder's data, without an address when it ended before it had one."""
    settings = {
        name: value for name, value in environment(folder, run_idle_s="0").items() if name.startswith("PENSTOCK_")
    }
    heard, say = _forge.Pipe(duplex=False)
    log = folder / "service.log"
    process = _forge.Process(target=_live, args=(settings, spec, while_starting, say, log))
    process.start()
    say.close()
    forked = Forked(process)
    try:
        await _readable(heard.fileno())
        try:
            address = heard.recv()
        except EOFError:
            address = ""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:
            yield Service(cast("asyncio.subprocess.Process", forked), address, log, session)
    finally:
        if forked.returncode is None:
            forked.kill()
        await forked.wait()
        heard.close()
        process.close()

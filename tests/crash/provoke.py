"""What it takes to bring the service to the failpoints that its runs alone do not lead it to."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from tests.crash.service import environment
from tests.crash.wire import Lost, Unsent, Wire


@dataclass(frozen=True, slots=True)
class Stage:
    """The service as the provoker finds it."""

    folder: Path
    port: int
    pid: int


async def new_secret(stage: Stage) -> None:
    """Another company stores a first secret, for which it needs a key."""
    token = await registered(stage.port, f"{uuid4().hex}@example.test")
    how = {"base_url": "http://127.0.0.1:9", "auth_type": "bearer", "auth_token": "secret", "reversible": True}
    await Wire(stage.port, token).ask("PUT", "/connectors/spare", how)


async def new_vault_key(stage: Stage) -> None:
    """An operator gives the vault a new key while the service runs, by which it wraps all
    companies' keys anew.
    """
    await new_secret(stage)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon", "secrets", "rotate"),
        stdout=asyncio.subprocess.DEVNULL,
        env=environment(stage.folder),
    )
    await process.wait()


async def stop(stage: Stage) -> None:
    """An operator stops the service."""
    os.kill(stage.pid, signal.SIGTERM)


PROVOKED: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "connector-kept": new_secret,
    "company-key-kept": new_secret,
    "before-rewrap": new_vault_key,
    "after-rewrap": new_vault_key,
    "drain-begun": stop,
    "drained": stop,
}


async def provoke(name: str, stage: Stage) -> None:
    """Lead the service to a failpoint, if that takes something; it may die on the way."""
    if name in PROVOKED:
        with suppress(Lost, Unsent, ProcessLookupError):
            await PROVOKED[name](stage)


async def registered(port: int, email: str) -> str:
    """The token of somebody new, of a company of their own."""
    person = {"email": email, "password": "correct horse", "company_name": "Example"}
    answer = await Wire(port).ask("POST", "/auth/register", person)
    if answer.status != 201:
        raise AssertionError(f"the registration was answered {answer.status}")
    return str(answer.json["token"])

"""The service under attack: a process of its own, with a lag meter on its loop, whose log is kept
to be looked at.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.attack.wire import Answer, ask
from tests.load.pump import wire
from tests.post_office import PostOffice
from tests.programs import announced

HOSTED = "tests.attack.hosted"


@dataclass(slots=True)
class Target:
    """A running service."""

    port: int
    folder: Path
    process: asyncio.subprocess.Process

    @property
    def log(self) -> Path:
        """What it wrote to its standard error."""
        return self.folder / "stderr"

    @property
    def alive(self) -> bool:
        """Whether the process that was started still runs."""
        return self.process.returncode is None

    @property
    def memory_mb(self) -> float:
        """The memory that it has in use."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1_048_576

    @property
    def cpu_s(self) -> float:
        """The processor time that its threads have taken, whatever else loads the machine."""
        return time.clock_gettime(~self.process.pid << 3 | 2)  # what clock_getcpuclockid(3) makes on Linux

    def faults(self) -> list[str]:
        """The lines of its log that speak of something unforeseen."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines()
        return [
            " / ".join(lines[at : at + 60][-2:])
            for at, line in enumerate(lines)
            if "Traceback" in line or "unhandled_exception" in line
        ]

    def events(self, name: str) -> Iterator[dict[str, Any]]:
        """The entries of its log of one event."""
        for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines():
            if f'"{name}"' in line and line.startswith("{") and (entry := json.loads(line))["event"] == name:
                yield entry

    async def ask(self, method: str, path: str, body: Any = None, token: str | None = None) -> Answer:
        """One request on a connection of its own."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        raw = b"" if body is None else json.dumps(body).encode()
        answer = await ask(self.port, wire(method, path, raw, headers))
        assert answer is not None, f"{method} {path} was not answered"
        return answer

    async def register(self, name: str, password: str = "correct horse") -> str:
        """A token of a company of its own."""
        body = {"email": f"{name}@attack.test", "password": password, "company_name": name}
        token: str = (await self.ask("POST", "/auth/register", body)).json["token"]
        return token

    async def healthy(self) -> bool:
        """Whether it says that it is well."""
        return (await self.ask("GET", "/health")).status == 200

    def lags_ms(self, since: float, until: float) -> Iterator[float]:
        """How late the loop was, each time that it was asked and some of the delay was between two
        moments; only once it has stopped.
        """
        for line in (self.folder / "lags").read_text(encoding="ascii").splitlines():
            at, lag_s = map(float, line.split())
            if since <= at and at - lag_s <= until:
                yield lag_s * 1000


@asynccontextmanager
async def mailing(folder: Path) -> AsyncIterator[Target]:
    """A service with a mail server."""
    async with PostOffice() as office:
        mail = {"mail_from": "penstock@attack.test", "public_url": "http://attack.test", "smtp_url": office.url()}
        async with attacked(folder, **mail) as target:
            yield target


@asynccontextmanager
async def attacked(folder: Path, **settings: str) -> AsyncIterator[Target]:
    """Start a service, and stop it on the way out."""
    given = {f"PENSTOCK_{name.upper()}": text for name, text in settings.items()}
    environment = {**os.environ, "PENSTOCK_RATE_LIMITS": "off", "PENSTOCK_PORT": "0", **given}
    environment |= {"PENSTOCK_DATA_DIR": str(folder / "var"), "PENSTOCK_LOG_LEVEL": "warning"}
    async with announced(HOSTED, str(folder / "lags"), env=environment, log=folder / "stderr") as (process, port):
        yield Target(port, folder, process)

"""The servers that are measured, each in a process of its own, and what a process has cost so
far.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.attack.wire import Answer, ask
from tests.load.__main__ import Server
from tests.load.pump import wire
from tests.programs import announced

PERSON = {"email": "bench@example.test", "password": "bench bench bench", "company_name": "Bench"}


@dataclass(frozen=True, slots=True)
class Served(Server):
    """A server that runs, how long it took to say so, and where its figures are."""

    ready_s: float = 0.0
    figures_port: int = 0

    @property
    def rss_kib(self) -> int:
        """The memory that it has in use."""
        return int(_found(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status")))

    @property
    def written_bytes(self) -> int:
        """What it has sent to the disk so far."""
        return int(_found(r"\nwrite_bytes: (\d+)", Path(f"/proc/{self.pid}/io")))

    @property
    def read_bytes(self) -> int:
        """What it has had fetched from the disk so far; what the system had in memory does not
        count.
        """
        return int(_found(r"\nread_bytes: (\d+)", Path(f"/proc/{self.pid}/io")))

    async def get(self, path: str, token: str) -> Answer:
        """One request on a connection of its own."""
        answer = await ask(self.port, wire("GET", path, headers={"Authorization": f"Bearer {token}"}))
        assert answer is not None, path
        return answer

    async def register(self) -> tuple[str, str]:
        """A company of its own: its token and its id."""
        answer = await ask(self.port, wire("POST", "/auth/register", json.dumps(PERSON).encode()))
        assert answer is not None
        assert answer.status == 201, answer.body
        return answer.json["token"], answer.json["company"]["id"]

    async def counted(self, *names: str) -> dict[str, float]:
        """Some of its figures, as Prometheus would see them."""
        answer = await ask(self.figures_port, wire("GET", "/metrics"))
        assert answer is not None
        return {name: _sample(answer.body.decode(), f"penstock_{name}") for name in names}


def _found(pattern: str, path: Path) -> str:
    found = re.search(pattern, path.read_text(encoding="ascii"))
    assert found is not None, path
    return found[1]


def _sample(page: str, name: str) -> float:
    (value,) = re.findall(rf"^{name} (\S+)$", page, re.MULTILINE)
    return float(value)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port: int = door.getsockname()[1]
        return port


@asynccontextmanager
async def echoing(program: str = "tests.load.echo") -> AsyncIterator[Served]:
    """The bare server, or another that says where it is."""
    async with _running([program], {}, None) as served:
        yield served


@asynccontextmanager
async def serving(folder: Path, *, figures: bool = True, **settings: str) -> AsyncIterator[Served]:
    """The service on a data folder, with the settings of somebody who has set none, but for
    these.
    """
    port = free_port() if figures else 0
    given = {"DATA_DIR": str(folder), "PORT": "0", "RATE_LIMITS": "off"}
    given |= {"METRICS_PORT": str(port)} if figures else {}
    given |= {name.upper(): text for name, text in settings.items()}
    log = folder.with_name(f"{folder.name}.log")
    async with _running(["daemon", "serve"], {f"PENSTOCK_{name}": text for name, text in given.items()}, log) as served:
        yield Served(served.port, served.pid, served.ready_s, port)


@asynccontextmanager
async def _running(arguments: list[str], environment: dict[str, str], log: Path | None) -> AsyncIterator[Served]:
    others = {name: text for name, text in os.environ.items() if not name.startswith("PENSTOCK_")}
    began = time.perf_counter()
    async with announced(*arguments, env=others | environment, log=log) as (process, port):
        yield Served(port, process.pid, time.perf_counter() - began)

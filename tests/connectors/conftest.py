"""A far side to call, a clock that only attempts move, and a dispatcher with everything around
it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from msgspec.structs import replace

from actors.core.calls import CallRequest, Connector
from actors.core.messages import CallEffect, CallFailed, CallReturned, Outcome, Wake
from actors.ports import Asker
from daemon.connectors.egress import EgressGuard, parse_networks
from daemon.connectors.http import HttpConnector
from daemon.connectors.response_map import map_response
from daemon.connectors.responses import ResponseReader
from daemon.connectors.retry import CallLimits, RetryClock
from daemon.connectors.sending import Callbacks
from daemon.engine.dispatcher import Dispatcher
from daemon.keys.keyring import KeyRing
from daemon.keys.vault import AUTH_TOKEN, DataKey, Vault, wrapped
from daemon.model import StoredConnector
from daemon.runtime.offload import Offload
from daemon.stores.sqlite.database import run
from daemon.stores.tables.connectors import add_company_key
from tests.memory_database import MemoryRepositories

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LOOPBACK = parse_networks("127.0.0.0/8, ::1/128")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """One request as the far side got it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class FarSide:
    """A real server on the loopback address that notes what it gets and answers what a test
    says.
    """

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.answers: list[Handler | int] = []
        self.arrived = asyncio.Event()
        app = web.Application(client_max_size=10 * 1024 * 1024)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self.server = TestServer(app, host="127.0.0.1")

    @property
    def url(self) -> str:
        return str(self.server.make_url("")).rstrip("/")

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(Seen(request.method, request.raw_path, dict(request.headers), await request.read()))
        self.arrived.set()
        answer: Handler | int = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, int):
            return web.json_response({"answer": len(self.seen)}, status=answer)
        return await answer(request)


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Do it, and break the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def hang(request: web.Request) -> web.StreamResponse:
    """Do it, and never answer."""
    await asyncio.Event().wait()
    return web.Response()


def echo_auth(request: web.Request) -> web.Response:
    return web.json_response({"you sent": request.headers.get("Authorization")})


@dataclass
class FakeClock:
    """Time that passes only while an attempt waits."""

    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)
    hold: asyncio.Event | None = None
    held: asyncio.Event = field(default_factory=asyncio.Event)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.held.set()
        self.seconds += seconds
        if self.hold is not None:
            await self.hold.wait()

    def clock(self) -> RetryClock:
        return RetryClock(monotonic=lambda: self.seconds, sleep=self.sleep, jitter=lambda: 1.0)


class Shelf:
    """The connectors of all companies, in a dict."""

    def __init__(self) -> None:
        self.connectors: dict[tuple[str, str], StoredConnector] = {}
        self.looked_up = 0
        self.error: Exception | None = None

    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        self.looked_up += 1
        if self.error is not None:
            raise self.error
        return self.connectors.get((company_id, tool_id))

    async def find_deleted(self, company_id: str, tool_id: str) -> Connector | None:
        return None


class Rules:
    """A signal rule is a key of the answer; without it the answer is a hit."""

    async def value(self, asker: Asker, rule: str, status: int, body: Any, size: int) -> Any:
        return body.get(rule, True) if isinstance(body, dict) else True

    async def mapped(self, asker: Asker, names: dict[str, str], body: Any, size: int) -> dict[str, Any] | None:
        return map_response(names, body)


class House:
    """A dispatcher with all that it needs, and what it posted."""

    def __init__(self, far: FarSide, http: HttpConnector, **limits: Any) -> None:
        self.far = far
        self.time = FakeClock()
        self.shelf = Shelf()
        ring, key, keys = KeyRing("", {}).rotated(), secrets.token_bytes(32), MemoryRepositories()
        run(lambda db: add_company_key(db, wrapped(ring, "co", key, NOW)), keys.db, keys.keys)
        self.data_key = DataKey(key)
        self.vault = Vault(ring, keys, lambda: NOW)
        self.posted: list[Outcome] = []
        self.woken: list[Wake] = []
        self.changed = asyncio.Event()
        offload = Offload()
        self.dispatcher = Dispatcher(
            http=http,
            vault=self.vault,
            connectors=self.shelf,
            responses=ResponseReader(Rules(), offload),
            post=self.post,
            wake=self.woken.append,
            now=lambda: NOW,
            callbacks=Callbacks(lambda: [b"key"], "https://penstock.test"),
            limits=CallLimits(**limits),
            clock=self.time.clock(),
        )

    def post(self, company_id: str, run_id: str, outcome: Outcome) -> None:
        assert (company_id, run_id[:3]) == ("co", "run")
        self.posted.append(outcome)
        self.changed.set()

    def connect(self, secret: str | None = None, **fields: Any) -> Connector:
        """Put a live connector to the far side on the shelf."""
        whole = {"version": 1, "base_url": self.far.url, "method": "POST", "path": "/do", "reversible": True}
        connector = Connector(tool_id="lab", **{**whole, **fields})
        sealed = None if secret is None else self.data_key.seal(("co", "lab", AUTH_TOKEN), secret)
        self.shelf.connectors["co", "lab"] = StoredConnector("co", connector, sealed, NOW, NOW, "user")
        return connector

    def call(self, *, repeatable: bool = True, visit: int = 1, run_id: str = "run-1", **fields: Any) -> CallEffect:
        """A call of that connector, as the core would ask for it."""
        request = CallRequest(
            tool="lab",
            mode="live",
            method="POST",
            url=f"{self.far.url}/do",
            body={"b": 1, "a": "\u00e4"},
            connector_version=1,
        )
        return CallEffect("co", run_id, "step", visit, replace(request, **fields), repeatable)

    def perform(self, *calls: CallEffect, recovered: bool = False) -> None:
        self.dispatcher.perform(calls, recovered=recovered)

    async def outcome(self) -> CallReturned | CallFailed:
        """The next outcome."""
        while not self.posted:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 10)
        outcome = self.posted.pop(0)
        assert isinstance(outcome, CallReturned | CallFailed)
        return outcome

    async def failure(self) -> CallFailed:
        outcome = await self.outcome()
        assert isinstance(outcome, CallFailed)
        return outcome

    async def rest(self) -> None:
        """Until nothing is in flight."""
        flights = [flight for run in self.dispatcher._in_flight.values() for flight in run.values()]
        await asyncio.gather(*(flight.task for flight in flights if flight.task is not None), return_exceptions=True)
        await asyncio.sleep(0)  # a flight lands in the moment after its task has ended
        assert len(self.dispatcher) == 0


@pytest.fixture
async def far() -> AsyncIterator[FarSide]:
    side = FarSide()
    await side.server.start_server(shutdown_timeout=0.01)
    yield side
    await side.server.close()


@pytest.fixture
async def http() -> AsyncIterator[HttpConnector]:
    async with HttpConnector(EgressGuard(LOOPBACK), now=lambda: NOW) as client:
        yield client


@pytest.fixture
async def house(far: FarSide, http: HttpConnector) -> AsyncIterator[House]:
    async with AsyncExitStack() as stack:
        one = House(far, http)
        stack.push_async_callback(one.dispatcher.drain, 0)
        yield one

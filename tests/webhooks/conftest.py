"""A real receiver on the loopback address, a real database, and a clock that goes only when told
to.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from daemon.connectors.egress import EgressGuard, parse_networks
from daemon.connectors.http import HttpConnector
from daemon.identity.tokens import Principal
from daemon.keys.keyring import KeyRing
from daemon.keys.vault import Vault
from daemon.model.webhooks import StoredDelivery, StoredWebhook, WebhookDraft
from daemon.stores.sqlite.store import SqliteStore
from daemon.webhooks.deliverer import Deliverer, DeliveryLimits
from daemon.webhooks.sender import WebhookSender
from daemon.webhooks.service import WebhookService
from tests.histories import ACME, NOON, Clock, append, decide, start

PATIENCE_S = 10.0
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]
KEY = Principal("key-1", ACME, "admin", "ci", "key-1", NOON, kind="service")
"""A machine that may change webhooks."""


@dataclass
class Got:
    """One request as the receiver got it."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


def verified(secret: str, got: Got) -> bool:
    """Whether a message is signed as Standard Webhooks has it; written apart from what signs it."""
    key = base64.b64decode(secret[len("whsec_") :])
    signed = b".".join((got.id.encode(), got.headers["webhook-timestamp"].encode(), got.raw))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    signatures = [one.partition(",") for one in got.headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(found, expected) for version, _, found in signatures)


class Receiver:
    """A real server that notes what it gets, and answers what a test says."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.connections: set[tuple[str, int]] = set()
        self.status = 200
        self.headers: dict[str, str] = {}
        self.answers: list[int] = []
        self.open = asyncio.Event()
        self.open.set()
        self.arrived = asyncio.Event()
        self.inside = 0
        self.inside_max = 0
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self.server = TestServer(app, host="127.0.0.1")

    def url(self, path: str = "/in") -> str:
        return str(self.server.make_url(path))

    async def _handle(self, request: web.Request) -> web.Response:
        self.connections.add(request.transport.get_extra_info("peername"))  # type: ignore[union-attr]
        self.got.append(Got(request.path, {k.lower(): v for k, v in request.headers.items()}, await request.read()))
        self.inside += 1
        self.inside_max = max(self.inside, self.inside_max)
        self.arrived.set()
        try:
            await self.open.wait()
        finally:
            self.inside -= 1
        status = self.answers.pop(0) if self.answers else self.status
        answer = web.Response(status=status, headers=self.headers)
        if "Connection" in self.headers:
            answer.force_close()
        return answer

    async def holding(self, number: int, post: Post) -> int:
        """How many requests are held, once there are so many and whoever could send more has had
        the time to.
        """
        async with asyncio.timeout(PATIENCE_S):
            while self.inside < number:
                self.arrived.clear()
                await self.arrived.wait()
        for _ in range(10):
            await post.store.ping()
        return self.inside

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.got]


@dataclass
class Post:
    """All that delivers, on a database; it can be stopped, cut off and opened again."""

    path: Path
    clock: Clock = field(default_factory=Clock)
    ring: KeyRing = field(default_factory=lambda: KeyRing("", {}).rotated())
    networks: str = "127.0.0.0/8"
    limits: DeliveryLimits = field(default_factory=DeliveryLimits)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    store: SqliteStore = field(init=False)
    deliverer: Deliverer = field(init=False)
    book: WebhookService = field(init=False)

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.store = await self.stack.enter_async_context(SqliteStore.open(self.path, clock=self.clock))
        guard = EgressGuard(parse_networks(self.networks))
        http = await self.stack.enter_async_context(HttpConnector(guard, now=self.clock))
        vault = Vault(self.ring, self.store, self.clock)
        notify = WebhookSender(http, vault, self.clock).send
        self.deliverer = Deliverer(self.store, notify, self.clock, self.limits)
        self.book = WebhookService(self.store, vault, notify, self.deliverer.wake, self.clock)

    async def close(self, grace_s: float = 0) -> None:
        await self.deliverer.drain(grace_s)
        await self.stack.aclose()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    async def hook(
        self, url: str, events: tuple[str, ...] | None = None, company: str = ACME
    ) -> tuple[StoredWebhook, str]:
        made = await self.book.create(WebhookDraft(company, url, events, None, "ann", "session"), lambda _: None)
        await self.rest()
        return made

    async def happen(self, run_id: str, company: str = ACME) -> None:
        """A run of five events, in two commits."""
        begun = start(run_id, company)
        await self.store.append(begun)
        await append(self.store, decide(begun.run))
        self.deliverer.committed(company)

    async def rest(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.deliverer._working:
                await asyncio.wait(self.deliverer._working.values())

    async def later(self, seconds: float) -> None:
        """That much later, when everything due is done."""
        self.clock.forward(seconds=seconds)
        await self.deliverer.sweep()
        await self.rest()

    async def log(self, hook: StoredWebhook) -> list[StoredDelivery]:
        """The deliveries, oldest first."""
        return list(reversed(await self.store.deliveries(*hook.key, None, 10_000)))


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    one = Receiver()
    await one.server.start_server(shutdown_timeout=0.01)
    yield one
    one.open.set()
    await one.server.close()


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    one = Post(tmp_path / "data" / "penstock.db")
    await one.open()
    yield one
    await one.close()

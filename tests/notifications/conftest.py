"""All that notifies, on a real database, with a clock that goes only when told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from actors.core.messages import GateOpened, RunEnded, RunStarted, StepEntered, VerdictGiven
from actors.core.run import Run
from daemon.connectors.egress import EgressGuard, parse_networks
from daemon.connectors.http import HttpConnector
from daemon.connectors.service import ConnectorService
from daemon.identity.company.companies import Companies
from daemon.identity.tokens import Principal
from daemon.keys.keyring import KeyRing
from daemon.keys.vault import Vault
from daemon.model.events.company import NotificationTerms
from daemon.model.webhooks import StoredDelivery, StoredWebhook
from daemon.notifications.audience import NotificationContexts
from daemon.notifications.notifier import Channels, NotificationSending, Notifier
from daemon.notifications.service import NotificationDraft, NotificationService
from daemon.stores.sqlite.store import SqliteStore
from daemon.templates.catalog import Catalog, open_catalog
from daemon.templates.reading import NeedToKnow
from daemon.webhooks.deliverer import Deliverer
from daemon.webhooks.sender import WebhookSender
from tests.histories import ACME, Clock, account, append, commit
from tests.webhooks.conftest import PATIENCE_S, Receiver

ANN = Principal(
    user_id="user-ann",
    company_id=ACME,
    email="Ann@Example.test",
    role="manager",
    token_id="token",
    expires_at=Clock().now,
    member_id="user-ann",
)
GATE = "signoff"


@dataclass
class Desk:
    """It can be stopped and opened again."""

    path: Path
    clock: Clock = field(default_factory=Clock)
    ring: KeyRing = field(default_factory=lambda: KeyRing("", {}).rotated())
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    store: SqliteStore = field(init=False)
    catalog: Catalog = field(init=False)
    deliverer: Deliverer = field(init=False)
    notifier: Notifier = field(init=False)
    service: NotificationService = field(init=False)

    async def open(self) -> None:
        self.stack, clock = AsyncExitStack(), self.clock
        self.store = store = await self.stack.enter_async_context(SqliteStore.open(self.path, clock=clock))
        self.catalog = await open_catalog(None, store)
        guard = EgressGuard(parse_networks("127.0.0.0/8"))
        http = await self.stack.enter_async_context(HttpConnector(guard, now=clock))
        vault, companies = Vault(self.ring, store, clock), Companies(store, clock)
        reading = NeedToKnow(store, self.catalog, companies, clock)
        connectors = ConnectorService(store, vault, clock)
        situations = NotificationContexts(store, self.catalog, connectors, companies, reading)
        sender = WebhookSender(http, vault, clock)
        channels = Channels(sender.post, None, "https://penstock.test")
        sending = NotificationSending(store, situations, companies, channels, clock)
        self.deliverer = Deliverer(store, sender.send, clock, notifications=sending)
        self.notifier = Notifier(store, situations, self.deliverer.wake, clock)
        look = self.deliverer.wake
        self.service = NotificationService(store, vault, sending, self.notifier, look, clock)

    async def close(self) -> None:
        await self.notifier.drain(0)
        await self.deliverer.drain(0)
        await self.stack.aclose()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    async def tell(self, url: str, **terms: Any) -> StoredWebhook:
        events = terms.pop("events", ("gate_opened", "gate_decided"))
        whom = NotificationTerms(**{"member_id": "user-ann", **terms})
        draft = NotificationDraft("webhook", events, whom, None, enabled=True, url=url)
        made, _ = await self.service.create(ANN, draft, lambda _: None)
        await self.rest()
        return made

    async def gate(self, run_id: str, *, published: bool = True) -> Run:
        """A run that parks at a gate."""
        entry = await self.catalog.current(ACME, "prior-auth")
        assert entry is not None
        started = RunStarted(
            at=self.clock(),
            run_id=run_id,
            company_id=ACME,
            by="bob",
            vertical="prior-auth",
            template_version=entry.template.version,
            template_digest=entry.template.digest,
            inputs={},
            auto_resolve=True,
        )
        entered = StepEntered(at=self.clock(), step_id=GATE, visit=1, kind="gate", tier="high")
        opened = GateOpened(
            at=self.clock(),
            step_id=GATE,
            visit=1,
            label="Sign-off",
            reason="a human decides",
            decisions=("approved", "denied"),
            digest="sha256:" + "a" * 64,
        )
        return await self._append(commit(None, started, entered, opened), published=published)

    async def decide(self, run: Run, *, published: bool = True) -> None:
        verdict = VerdictGiven(at=self.clock(), step_id=GATE, visit=1, decision="approved", by="carl")
        ended = RunEnded(at=self.clock(), status="completed", outcome="done")
        await self._append(commit(run, verdict, ended), published=published)

    async def _append(self, made: Any, *, published: bool) -> Run:
        await append(self.store, made)
        if published:
            self.notifier.published(made.run, made.events)
            await self.rest()
        run: Run = made.run
        return run

    async def rest(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while tasks := [*self.notifier._working.values(), *self.deliverer._working.values()]:
                await asyncio.wait(tasks)

    async def later(self, seconds: float) -> None:
        """That much later, when everything due is done."""
        self.clock.forward(seconds=seconds)
        await self.notifier.sweep()
        await self.rest()
        await self.deliverer.sweep()
        await self.rest()

    async def log(self, one: StoredWebhook) -> list[StoredDelivery]:
        """The deliveries, oldest first."""
        return list(reversed(await self.store.deliveries(*one.key, None, 10_000)))


def types(receiver: Receiver) -> list[list[str]]:
    """What each message tells of."""
    return [[one["type"] for one in got.json["data"]["notifications"]] for got in receiver.got]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    one = Desk(tmp_path / "data" / "penstock.db")
    await one.open()
    await one.store.register(account(), None)
    yield one
    await one.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    one = Receiver()
    await one.server.start_server(shutdown_timeout=0.01)
    yield one
    one.open.set()
    await one.server.close()

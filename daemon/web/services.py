"""What the handlers work with, put together by the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from aiohttp import web

from actors.directory import Directory
from daemon.audit.sealer import Sealer
from daemon.engine.feed import Feed
from daemon.identity.accounts import Identity
from daemon.model import ConnectorService, ConnectorTester, Rates, Receipts, Runs, StoreState, UrlPolicy
from daemon.model.event_log import EventLog
from daemon.model.evidence import Evidence
from daemon.model.webhooks import Webhooks
from daemon.observability.tracing import Tracer
from daemon.runtime.background import Background
from daemon.settings import Settings
from daemon.templates.catalog import Catalog

Requested = Callable[[str, str, int], Callable[[float], None]]
"""Who hears of the requests of one method, route and status: of each, how many seconds it took."""


class RequestStore(Runs, Receipts, Evidence, EventLog, Protocol):
    """The store, as far as requests use it themselves."""

    async def ping(self) -> None:
        """Prove that the store can write."""

    @property
    def state(self) -> StoreState:
        """Whether the store can write, as it was seen last."""

    @property
    def failed(self) -> bool:
        """Whether the store has failed for good."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a handler may need."""

    settings: Settings
    version: str
    now: Callable[[], datetime]
    directory: Directory
    store: RequestStore
    catalog: Catalog
    toolbox: ConnectorService
    tester: ConnectorTester
    targets: UrlPolicy
    webhooks: Webhooks
    identity: Identity
    feed: Feed
    sealer: Sealer
    background: Background
    draining: Callable[[], bool]
    is_out: Callable[[str, str], bool]
    requested: Requested | None = None
    tracer: Tracer | None = None
    rates: Rates | None = None


SERVICES = web.AppKey("services", Services)

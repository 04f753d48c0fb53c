"""The composition root: opens every part in order, and closes them in reverse."""

from __future__ import annotations

import asyncio
import importlib.metadata
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from daemon.audit.sealer import LOOK_S, Sealer
from daemon.audit.signer import PUBLIC, Signer
from daemon.connectors.dns import DnsResolver
from daemon.connectors.egress import EgressGuard, parse_hosts, parse_networks
from daemon.connectors.http import HttpConnector
from daemon.connectors.service import ConnectorService
from daemon.connectors.traced import TracedConnector
from daemon.connectors.url_policy import UrlPolicy
from daemon.engine import passivation
from daemon.engine.assembly import Engine, build_engine
from daemon.engine.change_poller import ChangePoller
from daemon.engine.sweeper import LOOK_AGAIN_S, Sweeper
from daemon.identity.accounts import Identity
from daemon.identity.passwords import Passwords
from daemon.keys import consistency
from daemon.keys.change_log import LOOKED_S, KeyFileWatcher
from daemon.keys.keyring import KeyRing, open_ring
from daemon.keys.rotation import KEYS_CHECKED_S, Rotation
from daemon.keys.vault import Vault
from daemon.model import SharedStore, Store
from daemon.model.audit_events import KeyPurpose
from daemon.observability.open_gates import OpenGates
from daemon.observability.tracing import Tracer, traced
from daemon.runtime import exit_codes
from daemon.runtime.background import Background, Loop
from daemon.runtime.clock import utc_now
from daemon.runtime.durable_files import make_folder
from daemon.runtime.systemd import SystemdEnvironment, SystemdNotifier
from daemon.settings import KEY_FILES, Settings, key_files
from daemon.stores.sqlite.connection import DATABASE
from daemon.stores.sqlite.store import SqliteStore
from daemon.templates.catalog import Catalog, load_folder, shipped
from daemon.web.server.listen import listening
from daemon.web.server.metrics_endpoint import scraped
from daemon.web.services import Services
from daemon.webhooks.service import WebhookService

if TYPE_CHECKING:
    from daemon.observability.metrics import Metrics

STORE_LOOKED_S = 1.0
_log = structlog.get_logger("penstock")


@dataclass(slots=True)
class Lifecycle:
    """Whether the process goes on: why it stops, and with which code it then ends."""

    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    exit_code: int = 0
    draining: bool = False

    def stop(self, exit_code: int = 0) -> None:
        """End; the first reason that is not a wish decides about the code."""
        self.exit_code = self.exit_code or exit_code
        self.stopping.set()


async def serve(settings: Settings, announce: Callable[[str], None] = lambda _: None) -> int:
    """Serve until SIGTERM or SIGINT, or until the store fails; returns the exit code."""
    life = Lifecycle()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, life.stop)
    told = SystemdEnvironment()
    supervisor = SystemdNotifier(told)
    supervisor.say("STATUS=Opening the store and taking up runs")
    async with AsyncExitStack() as stack:
        services, engine = await _open(settings, life, stack)
        _feed_watchdog(services, supervisor, stack)
        door = await stack.enter_async_context(listening(services, told.sockets))
        passivation.tune_interpreter()
        if not told.notify_socket:  # systemd is told by the next line, and would take this one for the log's
            announce(door.address)
        supervisor.ready(door.address)
        _log.info("serving", address=door.address, data_dir=str(settings.data_dir))
        await life.stopping.wait()
        supervisor.say("STOPPING=1", "STATUS=Draining: whoever waits is answered")
        _log.info("draining")
        life.draining = True
        await door.shut()
        await engine.drain(settings.drain_timeout_s)
    supervisor.say(f"STATUS=Stopped with exit code {life.exit_code}")
    _log.info("stopped", exit_code=life.exit_code)
    return life.exit_code


@asynccontextmanager
async def opened(settings: Settings, life: Lifecycle) -> AsyncIterator[Services]:
    """Every part of the service but its listening socket; on the way out, all that was accepted is finished."""
    async with AsyncExitStack() as stack:
        services, engine = await _open(settings, life, stack)
        yield services
        life.draining = True
        await engine.drain(settings.drain_timeout_s)


async def _open(settings: Settings, life: Lifecycle, stack: AsyncExitStack) -> tuple[Services, Engine]:
    files, version = key_files(settings), importlib.metadata.version("penstock")
    metrics = _metrics(settings, version)
    stop = partial(life.stop, exit_codes.STORE_FAILED)
    background = Background(stop=stop, count=metrics.loop_failed if metrics else None)
    tracing = await stack.enter_async_context(traced(settings.otlp_endpoint, version=version))
    store, shared = await _store(settings, life, metrics, background, stack)
    keys = await _keys(settings, store, shared, background, stack)
    signer = Signer(files["audit"], settings.data_dir / PUBLIC, utc_now)
    sealer = Sealer(store, signer, metrics.sealed if metrics else None)
    stack.push_async_callback(sealer.close)
    catalog = await _catalog(settings, store)
    vault = _vault(keys["secrets"], files["secrets"], store, background, stack)
    connector_service = ConnectorService(store, vault, utc_now, shared=shared is not None)
    guard = EgressGuard(parse_networks(settings.egress_allow), parse_hosts(settings.egress_hosts))
    http, lookups = await _client(settings, guard, tracing, stack)
    engine = build_engine(
        settings, store, shared, catalog, connector_service=connector_service, http=http, vault=vault, tracer=tracing
    )
    identity = await _identity(settings, files["tokens"], store, stack)
    background.keep(stack, Loop("timers", engine.timers.post_due, 0.0, vital=True))
    if metrics is not None:
        await _serve_metrics(settings, metrics, engine, store, background=background, stack=stack)
    services = Services(
        settings=settings,
        version=version,
        now=utc_now,
        directory=engine.directory,
        store=store,
        catalog=catalog,
        connector_service=connector_service,
        dispatcher=engine.dispatcher,
        url_policy=UrlPolicy(guard, lookups),
        webhooks=WebhookService(store, vault, engine.dispatcher.notify, engine.deliverer.look, utc_now),
        identity=identity,
        feed=engine.feed,
        sealer=sealer,
        background=background,
        draining=lambda: life.draining,
        metrics=metrics,
        tracer=tracing,
        rates=shared,
    )
    _log.info("recovered", runs=await engine.directory.recover())
    stack.push_async_callback(engine.deliverer.drain, 0)
    if shared is not None:
        poll = ChangePoller(shared, engine, identity, connector_service).run
        background.keep(stack, Loop("peers", poll, 0.0, vital=True))
    _keep_house(services, engine, store, stack)
    return services, engine


def _keep_house(services: Services, engine: Engine, store: Store, stack: AsyncExitStack) -> None:
    """Start what goes on beside the requests."""
    settings = services.settings
    sweeper = Sweeper(store, services.catalog, engine.directory, engine.dispatcher, engine.timers)
    sweep = partial(sweeper.look, min(settings.sweep_interval_s, LOOK_AGAIN_S))
    drop_old = partial(passivation.drop_old, store, utc_now, timedelta(seconds=settings.receipt_ttl_s))
    passivate = partial(passivation.passivate, engine.directory)
    for loop in (
        Loop("passivation", passivate, passivation.PASSIVATE_S),
        Loop("old-rows", drop_old, passivation.DROP_OLD_S),
        Loop("store", store.refresh_state, STORE_LOOKED_S),
        Loop("sweeper", sweep, settings.sweep_interval_s, at_once=False),
        Loop("sealer", services.sealer.look, LOOK_S, vital=True),
        Loop("webhooks", engine.deliverer.look_after_all, engine.deliverer.sweep_interval_s),
    ):
        services.background.keep(stack, loop)


def _feed_watchdog(services: Services, supervisor: SystemdNotifier, stack: AsyncExitStack) -> None:
    """Twice in the time that systemd allows, tell its watchdog that the process is alive."""
    if supervisor.alive_s is not None:
        half_s = supervisor.alive_s / 2
        feed = partial(supervisor.feed, services.store.ping, half_s)
        services.background.keep(stack, Loop("watchdog", feed, half_s))


async def _store(
    settings: Settings, life: Lifecycle, metrics: Metrics | None, background: Background, stack: AsyncExitStack
) -> tuple[Store, SharedStore | None]:
    """The store, and the same once more where it is one that other daemons use, too."""

    def failed() -> None:
        life.stop(exit_codes.STORE_FAILED)

    if settings.database_url is None:
        path, room = settings.data_dir / DATABASE, settings.disk_free_bytes_min
        opening = SqliteStore.open(
            path, batch_max=settings.batch_max, free_bytes_min=room, on_failed=failed, metrics=metrics
        )
        return await stack.enter_async_context(opening), None
    from daemon.stores.postgres.store import PostgresStore  # noqa: PLC0415 - most do without, and it takes time to import

    make_folder(settings.data_dir)
    url, lease_s = settings.database_url.get_secret_value(), settings.lease_s
    joining = PostgresStore.open(
        url,
        batch_max=settings.batch_max,
        lease_s=lease_s,
        on_failed=failed,
        metrics=metrics,
        background=background,
    )
    store = await stack.enter_async_context(joining)
    return store, store


async def _keys(
    settings: Settings, store: Store, shared: SharedStore | None, background: Background, stack: AsyncExitStack
) -> dict[KeyPurpose, KeyRing]:
    """The keys: compared with those of other daemons, and written down before anything is signed or sealed by them."""
    files = key_files(settings)
    if shared is not None:
        await consistency.check(files, shared)
    rings = {
        purpose: _ring(path, create=getattr(settings, KEY_FILES[purpose]) is None) for purpose, path in files.items()
    }
    watch = KeyFileWatcher(files, store, utc_now)
    await watch.begin()
    background.keep(stack, Loop("key-files", watch.look, LOOKED_S, at_once=False))
    return rings


def _ring(path: Path, *, create: bool) -> KeyRing:
    """The keys in a file that the settings name, or in one of the data folder, made on the first start."""
    ring, made = open_ring(path, create=create)
    if made:
        _log.warning("key_created", path=str(path), hint="keep a copy apart from the backups of the data folder")
    return ring


def _vault(ring: KeyRing, file: Path, store: Store, background: Background, stack: AsyncExitStack) -> Vault:
    vault = Vault(ring, store, utc_now)
    background.keep(stack, Loop("secrets", Rotation(file, vault).look, KEYS_CHECKED_S))
    return vault


async def _client(
    settings: Settings, guard: EgressGuard, tracing: Tracer | None, stack: AsyncExitStack
) -> tuple[HttpConnector, DnsResolver]:
    """The client of all calls, and what looks up the names of their hosts."""
    lookups, bytes_max = DnsResolver(), settings.response_bytes_max
    stack.push_async_callback(lookups.close)
    if tracing is None:
        http = HttpConnector(guard, body_bytes_max=bytes_max, resolver=lookups)
    else:
        http = TracedConnector(tracing, guard, body_bytes_max=bytes_max, resolver=lookups)
    return await stack.enter_async_context(http), lookups


def _metrics(settings: Settings, version: str) -> Metrics | None:
    if settings.metrics_port is None:
        return None
    from daemon.observability.metrics import Metrics  # noqa: PLC0415 - the library takes 30 ms to import

    return Metrics(version)


async def _serve_metrics(
    settings: Settings,
    metrics: Metrics,
    engine: Engine,
    store: Store,
    *,
    background: Background,
    stack: AsyncExitStack,
) -> None:
    from daemon.observability.metrics import Sources  # noqa: PLC0415 - as above

    engine.feed.tell(metrics.committed)
    sources = Sources(
        engine.directory,
        engine.directory.waiting,
        engine.dispatcher,
        OpenGates(store),
        store.unsealed,
        utc_now,
    )
    scrape = partial(metrics.scrape, sources)
    address = await stack.enter_async_context(scraped(settings.metrics_port or 0, scrape, metrics.content_type))
    background.keep(stack, Loop("loop-lag", metrics.probe_loop_lag, 0.0))
    _log.info("metrics_listening", address=address)


async def _identity(settings: Settings, keys: Path, store: Store, stack: AsyncExitStack) -> Identity:
    passwords = Passwords(settings.password_hashes_max)
    stack.callback(passwords.close)
    identity = Identity(store, passwords, keys, token_ttl_s=settings.token_ttl_s, now=utc_now)
    await identity.open()
    return identity


async def _catalog(settings: Settings, store: Store) -> Catalog:
    entries = shipped()
    if settings.templates_dir is not None:
        own = load_folder(settings.templates_dir)
        replaced = {entry.template.vertical for entry in own}
        entries = [entry for entry in entries if entry.template.vertical not in replaced] + own
    catalog = Catalog(entries, store)
    await catalog.open()
    return catalog

"""GET /metrics, on a port of its own, which only this machine can reach unless set otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog
from aiohttp import web

from daemon.settings import Settings
from daemon.web.server.listen import explained, url_of
from daemon.web.services import Services

if TYPE_CHECKING:
    from daemon.observability.metrics import Metrics

CLOSE_S = 0.25
_log = structlog.get_logger("penstock")


def open_metrics(settings: Settings, version: str) -> Metrics | None:
    if settings.metrics_port is None:
        return None
    from daemon.observability.metrics import Metrics  # noqa: PLC0415 - the library takes 30 ms to import

    return Metrics(version)


@asynccontextmanager
async def serve_metrics(metrics: Metrics, services: Services) -> AsyncIterator[None]:
    from daemon.observability.metrics import OpenGates, Sources  # noqa: PLC0415 - as above

    store, directory, settings = services.store, services.directory, services.settings
    host, port = settings.metrics_host, settings.metrics_port or 0
    gates = OpenGates(store.parked, store.load)
    sources = Sources(directory, directory.waiting, services.dispatcher, gates, store.unsealed, services.now)
    services.feed.subscribe(metrics.committed)

    async def show(_: web.Request) -> web.Response:
        headers = {"Content-Type": metrics.content_type, "Cache-Control": "no-store"}
        return web.Response(body=await metrics.scrape(sources), headers=headers)

    app = web.Application()
    app.router.add_get("/metrics", show)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_S)
    await runner.setup()
    try:
        with explained(f"{host}:{port}", "PENSTOCK_METRICS_PORT or PENSTOCK_METRICS_HOST"):
            await web.TCPSite(runner, host, port).start()
        _log.info("metrics_listening", address=f"{url_of(*runner.addresses[0][:2])}/metrics")
        yield
    finally:
        await runner.cleanup()

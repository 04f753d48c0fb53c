"""The listening socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from daemon.web.routes import application
from daemon.web.services import Services

BACKLOG = 4_096
ANSWERS_DRAIN_S = 2.0
IDLE_CONNECTION_S = 75.0


@asynccontextmanager
async def listening(services: Services) -> AsyncIterator[int]:
    """Serve on the settings' address; yields the port. On the way out every request under way is answered."""
    runner = web.AppRunner(
        application(services), access_log=None, shutdown_timeout=ANSWERS_DRAIN_S, keepalive_timeout=IDLE_CONNECTION_S
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, services.settings.host, services.settings.port, backlog=BACKLOG).start()
        port: int = runner.addresses[0][1]
        yield port
    finally:
        await runner.cleanup()

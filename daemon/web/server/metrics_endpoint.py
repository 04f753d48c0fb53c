"""The page of figures, on a port of its own that only this machine can reach."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from daemon.web.server.listen_errors import explained

LOOPBACK = "127.0.0.1"
CLOSE_S = 0.25


@asynccontextmanager
async def scraped(port: int, page: Callable[[], Awaitable[bytes]], content_type: str) -> AsyncIterator[str]:
    """Serve the page as GET /metrics; yields its address."""

    async def show(_: web.Request) -> web.Response:
        return web.Response(body=await page(), headers={"Content-Type": content_type, "Cache-Control": "no-store"})

    app = web.Application()
    app.router.add_get("/metrics", show)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_S)
    await runner.setup()
    try:
        with explained(f"{LOOPBACK}:{port}", "PENSTOCK_METRICS_PORT"):
            await web.TCPSite(runner, LOOPBACK, port).start()
        yield f"http://{LOOPBACK}:{runner.addresses[0][1]}/metrics"
    finally:
        await runner.cleanup()

"""The service itself: is it well?"""

from __future__ import annotations

from aiohttp import web

from actors.ports import StoreFailed
from daemon.ports import DiskFull
from daemon.web.replies import json_reply
from daemon.web.services import SERVICES


async def health(request: web.Request) -> web.Response:
    """GET /health."""
    services = request.app[SERVICES]
    store = "ok"
    try:
        await services.store.ping()
    except DiskFull:
        store = "full"
    except StoreFailed:
        store = "failed"
    status = "draining" if services.draining() else store
    body = {
        "status": status,
        "version": services.version,
        "store": store,
        "runs": {"live": len(services.directory)},
    }
    return json_reply(body, 200 if status == "ok" else 503, {"Cache-Control": "no-store"})

"""The service itself: is it well?"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.web.responses import json_response
from daemon.web.services import SERVICES


async def health(request: web.Request) -> web.Response:
    """GET /health: from what is known already, so that it waits for nothing and anybody may ask."""
    services = request.app[SERVICES]
    store, down = services.store.state, services.background.down
    if services.draining():
        status: str = "draining"
    elif store != "ok":
        status = store
    else:
        status = "degraded" if down else "ok"
    body: dict[str, Any] = {
        "status": status,
        "version": services.version,
        "store": store,
        "runs": {"live": len(services.directory)},
    }
    if down:
        body["down"] = down
    return json_response(body, 200 if status in {"ok", "degraded"} else 503, {"Cache-Control": "no-store"})

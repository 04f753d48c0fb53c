"""The service itself: is it well?"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.contract import service as contract
from daemon.web.operations import PUBLIC, Operation
from daemon.web.responses import json_response
from daemon.web.services import SERVICES


@Operation("Get the health", PUBLIC, contract.Health, also=(503,))
async def get_health(request: web.Request) -> web.Response:
    """Answers at once from what is known already; 503 when the service cannot serve."""
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
    rewound = services.store.lost or services.rewound
    if rewound is not None:
        body["history_rewound"] = rewound._asdict()
    return json_response(body, 200 if status in {"ok", "degraded"} else 503, {"Cache-Control": "no-store"})

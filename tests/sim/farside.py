"""The far sides of the simulation, in the place of the HTTP client: they answer well, late,
wrongly, or never.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from actors.core.calls import CallRequest, Connector
from actors.ports import Asker
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed, ignore_sent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sim.process import Process

WIRE_WEIGHT = 4.0  # most is at stake while a call is out
STATUSES = (400, 404, 429, 500, 502, 503)


class FarSide(HttpConnector):
    """The client of one process; whatever comes to its door is on the wire."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def send(
        self,
        request: CallRequest,
        *,
        secret: str | None,
        connector: Connector,
        headers: dict[str, str],
        timeout_s: float,
        on_sent: Callable[[], None] = ignore_sent,
        kept_s: float | None = None,
    ) -> HttpResponse:
        """Send a request once and take the answer; SendFailed when there is none."""
        world, key = self._process.world, headers["Idempotency-Key"]
        how, delay_s = world.far_side(timeout_s)
        if how == "refused":
            await asyncio.sleep(min(delay_s, timeout_s))
            raise SendFailed("connect_failed", "The far side refused the connection.")
        on_sent()
        world.witness.sent(self._process, key, request)
        world.note(f"{self._process.name} wire: {key} {how}")
        await self._process.may_die("on the wire", WIRE_WEIGHT)
        if how == "broken":
            raise RuntimeError("a fault of our own")
        if how == "never" or delay_s >= timeout_s:
            await asyncio.sleep(timeout_s)
            raise SendFailed("timeout", "The time ran out.", maybe_sent=True)
        await asyncio.sleep(delay_s)
        if how == "lost":
            raise SendFailed("connection_lost", "The connection broke.", maybe_sent=True)
        await self._process.may_die("after the answer")
        status = world.rng.choice(STATUSES) if how == "status" else 200
        return HttpResponse(status, {"key": key, "hit": how == "hit"}, 1)


class Hits:
    """The signal rule of every connector that has one: whether the answer says that it is a hit."""

    async def value(self, asker: Asker, rule: str, status: int, body: Any, size: int) -> Any:
        return body.get("hit", True) if isinstance(body, dict) else True

    async def mapped(self, asker: Asker, names: dict[str, str], body: Any, size: int) -> dict[str, Any] | None:
        return None

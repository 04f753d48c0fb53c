"""Rate limits on what anybody may ask without a token."""

from __future__ import annotations

import math
import time

from aiohttp import web
from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from daemon.model import Rates
from daemon.web.clients import Clients
from daemon.web.problems import Problem

REGISTRATIONS = RateLimitItemPerMinute(60)
LOGINS = RateLimitItemPerMinute(5)


class RateLimits:
    """Registrations per address; log-ins per address and per account."""

    def __init__(self, clients: Clients, *, on: bool, shared: Rates | None = None) -> None:
        self._clients = clients
        self._on = on
        self._shared = shared
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def registration(self, request: web.Request) -> None:
        await self._hit(REGISTRATIONS, "register", self._clients.address(request))

    async def login(self, request: web.Request, email: str) -> None:
        await self._hit(LOGINS, "login-address", self._clients.address(request))
        await self._hit(LOGINS, "login-account", email.casefold())

    async def _hit(self, limit: RateLimitItemPerMinute, *who: str) -> None:
        room_in_s = await self._hit_together(limit, *who) if self._on else None
        if room_in_s is None:
            return
        wait_s = max(1, math.ceil(room_in_s))
        detail = f"More than {limit.amount} a minute; try again in {wait_s} s."
        raise Problem("rate_limited", detail, {"limit": limit.amount}, {"Retry-After": str(wait_s)})

    async def _hit_together(self, limit: RateLimitItemPerMinute, *who: str) -> float | None:
        if self._shared is not None:
            return await self._shared.hit("\n".join(who), limit.amount, limit.get_expiry())
        if await self._limiter.hit(limit, *who):
            return None
        reset_at, _ = await self._limiter.get_window_stats(limit, *who)
        return reset_at - time.time()


RATE_LIMITS = web.AppKey("rate_limits", RateLimits)

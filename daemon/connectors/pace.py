"""The pace of each company's calls."""

from __future__ import annotations

from daemon.connectors.retry import RetryClock

MINUTE_S = 60.0
COMPANIES_MAX = 10_000


class Pace:
    """Lets each company make `per_minute` calls at once, and then as many a minute; more wait.

    A company's debt is the time by which its calls are ahead of that pace.
    """

    def __init__(self, per_minute: int, clock: RetryClock) -> None:
        self._each_s = MINUTE_S / per_minute
        self._clock = clock
        self._paid_at: dict[str, float] = {}

    async def keep(self, company_id: str) -> None:
        """Wait until the company may make one more call."""
        now = self._clock.monotonic()
        paid_at = max(now, self._paid_at.pop(company_id, now)) + self._each_s
        self._paid_at[company_id] = paid_at
        if len(self._paid_at) > COMPANIES_MAX:
            self._forget_paid(now)
        if paid_at > now + MINUTE_S:
            await self._clock.sleep(paid_at - now - MINUTE_S)

    def _forget_paid(self, now: float) -> None:
        self._paid_at = {company: paid_at for company, paid_at in self._paid_at.items() if paid_at > now}

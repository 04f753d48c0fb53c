"""Limits on what anybody may ask without a token: registrations and log-ins."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import NamedTuple

from aiohttp import web
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from daemon.contract.base import email_key
from daemon.identity.accounts import InvalidCredentials
from daemon.identity.password_resets import ResetExpired
from daemon.identity.second_factors import WrongCode
from daemon.model import Rates, StoredCompany
from daemon.runtime.fairness import FairQueue
from daemon.settings import Settings
from daemon.web.clients import Clients
from daemon.web.middleware.admission import slot_released
from daemon.web.problems import HttpProblem, quota_exceeded

WAITING_MAX = 128
SLOW_AFTER = 5
SLOW_STEP_S = 0.1
SLOW_MAX_S = 2.0
NEW = timedelta(days=7)
"""How long a company is a new one."""


class Limit(NamedTuple):
    """So many within a time."""

    amount: int
    window_s: float
    window: str


ACCOUNT_FAILURES = Limit(64, 60.0, "minute")
"""How many wrong passwords of an account are counted, from wherever they come."""


CODES = Limit(10, 600.0, "10 minutes")
"""How many wrong codes of an account are taken; who sends one has shown its password."""


TOLD = Limit(20, 3_600.0, "hour")
"""How often a company's admins are mailed what others did."""


SIGN_ONS = Limit(120, 60.0, "minute")
"""How many steps of log-ins by single sign-on a network may take; each has two."""


class RateLimits:
    """Registrations and wrong passwords per network; log-ins of networks take turns to be hashed.

    Few wrong passwords for one account and more for all accounts refuse the network that they came
    from. Those for one account from many networks slow its log-ins down and refuse none: a stranger
    must not lock anybody out.
    """

    def __init__(self, clients: Clients, settings: Settings, shared: Rates | None = None) -> None:
        self._clients = clients
        self._on = settings.rate_limits
        self._registrations = (
            Limit(settings.network_registrations_per_minute_max, 60.0, "minute"),
            Limit(settings.network_registrations_per_day_max, 86_400.0, "day"),
        )
        self._failures = Limit(settings.network_failed_logins_per_minute_max, 60.0, "minute")
        self._guesses = Limit(settings.account_failed_logins_per_minute_max, 60.0, "minute")
        self._forgotten = (
            Limit(settings.network_forgotten_passwords_per_hour_max, 3_600.0, "hour"),
            Limit(settings.account_forgotten_passwords_per_hour_max, 3_600.0, "hour"),
        )
        self._invitations = Limit(settings.company_mailed_invitations_per_day_max, 86_400.0, "day")
        newer = min(settings.new_company_mailed_invitations_per_day_max, self._invitations.amount)
        self._first_invitations = self._invitations._replace(amount=newer)
        self._mails = self._invitations._replace(amount=settings.mailed_invitations_per_day_max)
        self._mails_to_one = self._invitations._replace(amount=settings.address_mailed_invitations_per_day_max)
        self._drafts = Limit(settings.company_drafts_per_minute_max, 60.0, "minute")
        self._tests = Limit(settings.company_tests_per_minute_max, 60.0, "minute")
        self._counts: Rates = LocalRates() if shared is None else shared
        self._hashing = FairQueue(settings.password_hashes_max, WAITING_MAX)

    async def registration(self, request: web.Request) -> None:
        """Count a registration of the caller's network; 429 beyond its budget."""
        for limit in self._registrations:
            wait_s = await self._hit(limit, f"register-{limit.window}", self._clients.prefix(request))
            if wait_s is not None:
                raise _limited(limit, wait_s)

    async def forgotten(self, request: web.Request, email: str) -> None:
        """Count a forgotten password of a network and of an address, whether it has an account."""
        of_network, of_account = self._forgotten
        wait_s = await self._hit(of_network, "forgotten-network", self._clients.prefix(request))
        if wait_s is not None:
            raise _limited(of_network, wait_s)
        wait_s = await self._hit(of_account, "forgotten-account", _digest(email))
        if wait_s is not None:
            raise _limited(of_account, wait_s)

    @asynccontextmanager
    async def mailed_token(self, request: web.Request) -> AsyncIterator[None]:
        """The turn of a caller with a mailed token; a wrong one counts as a wrong password."""
        rank = await self.network(request)
        with slot_released():
            async with self._turn(request, rank):
                try:
                    yield
                except ResetExpired:
                    await self._hit(self._failures, "login-network", self._clients.prefix(request))
                    raise

    async def mailed_invitation(self, company: StoredCompany, now: datetime) -> None:
        """Count an invitation that is mailed for a company; 429 beyond its budget."""
        limit = self._first_invitations if now - company.created_at < NEW else self._invitations
        detail = f"More than {limit.amount} invitations a day; try again later."
        await self._budgeted(f"invitation\n{company.id}", limit, "company_mailed_invitations_per_day", detail)

    async def may_mail(self, email: str, answered: int) -> bool:
        """Count a mail to an address that has `answered` so often; whether it may be sent."""
        local, _, domain = email_key(email).rpartition("@")
        mailbox = _digest(f"{local.partition('+')[0]}@{domain}")
        one = f"invited\n{mailbox}\n{answered}"
        for who, limit in ((one, self._mails_to_one), ("invited", self._mails)):
            if await self._counts.hit(who, limit.amount, limit.window_s) is not None:
                return False
        return True

    async def may_tell(self, company_id: str) -> bool:
        """Count a mail to a company's admins; whether it may be sent."""
        return await self._counts.hit(f"told\n{company_id}", TOLD.amount, TOLD.window_s) is None

    async def draft(self, company_id: str) -> None:
        """Count a draft that a language model is asked for; 429 beyond the company's budget."""
        detail = f"More than {self._drafts.amount} drafts a minute; try again later."
        await self._budgeted(f"draft\n{company_id}", self._drafts, "company_drafts_per_minute", detail)

    async def _budgeted(self, who: str, limit: Limit, budget: str, detail: str) -> None:
        wait_s = await self._counts.hit(who, limit.amount, limit.window_s)
        if wait_s is not None:
            raise quota_exceeded(budget, limit.amount, detail, retry_after_s=max(1, math.ceil(wait_s)))

    async def sign_on(self, request: web.Request) -> None:
        """Count a step of a log-in by single sign-on; 429 for too many of a network."""
        wait_s = await self._hit(SIGN_ONS, "sso", self._clients.prefix(request))
        if wait_s is not None:
            raise _limited(SIGN_ONS, wait_s)

    async def test(self, company_id: str) -> None:
        """Count a test call of a company; 429 beyond its budget."""
        detail = f"More than {self._tests.amount} tests a minute; try again later."
        await self._budgeted(f"test\n{company_id}", self._tests, "company_tests_per_minute", detail)

    async def network(self, request: web.Request) -> int:
        """How many wrong passwords a network sent; 429 for too many. Counts nothing."""
        failures, wait_s = await self._hits(self._failures, "login-network", self._clients.prefix(request))
        if failures >= self._failures.amount:
            raise _limited(self._failures, wait_s)
        return failures

    @asynccontextmanager
    async def password(self, request: web.Request, email: str) -> AsyncIterator[None]:
        """The turn of a caller whose password is checked; InvalidCredentials inside is counted."""
        rank = await self._guessed(request, email)
        failures, _ = await self._hits(ACCOUNT_FAILURES, "login-account", _digest(email))
        with slot_released():
            await asyncio.sleep(delay_s(failures))
            async with self._turn(request, rank):
                await self._guessed(request, email)  # others from there may have failed meanwhile
                try:
                    yield
                except InvalidCredentials:
                    network = self._clients.prefix(request)
                    await self._hit(self._failures, "login-network", network)
                    await self._hit(self._guesses, "login-guess", network, _digest(email))
                    await self._hit(ACCOUNT_FAILURES, "login-account", _digest(email))
                    raise

    @asynccontextmanager
    async def code(self, email: str) -> AsyncIterator[None]:
        """WrongCode inside is counted; 429 for too many of an account, from wherever they come."""
        who = f"code\n{_digest(email)}"  # also where the limits are off: a code has six digits
        failures, wait_s = await self._counts.hits(who, CODES.amount, CODES.window_s)
        if failures >= CODES.amount:
            raise _limited(CODES, wait_s)
        try:
            yield
        except WrongCode:
            await self._counts.hit(who, CODES.amount, CODES.window_s)
            raise

    async def _guessed(self, request: web.Request, email: str) -> int:
        """As `network`; 429 for too many wrong passwords for this one account, too."""
        failures = await self.network(request)
        guesses, wait_s = await self._hits(self._guesses, "login-guess", self._clients.prefix(request), _digest(email))
        if guesses >= self._guesses.amount:
            raise _limited(self._guesses, wait_s)
        return failures

    @asynccontextmanager
    async def hashing(self, request: web.Request) -> AsyncIterator[None]:
        """The turn of a caller whose new password is hashed; log-ins go before many of these."""
        network, (limit, _) = self._clients.prefix(request), self._registrations
        failures, _ = await self._hits(self._failures, "login-network", network)
        registrations, _ = await self._hits(limit, f"register-{limit.window}", network)
        rank = failures + registrations
        with slot_released():
            async with self._turn(request, rank):
                yield

    @asynccontextmanager
    async def _turn(self, request: web.Request, rank: int) -> AsyncIterator[None]:
        await self._hashing.acquire(self._clients.prefix(request), rank)
        try:
            yield
        finally:
            self._hashing.release()

    async def _hit(self, limit: Limit, *who: str) -> float | None:
        return await self._counts.hit("\n".join(who), limit.amount, limit.window_s) if self._on else None

    async def _hits(self, limit: Limit, *who: str) -> tuple[int, float]:
        return await self._counts.hits("\n".join(who), limit.amount, limit.window_s) if self._on else (0, 0.0)


class LocalRates:
    """The counts of one process, in memory."""

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def hit(self, who: str, amount: int, window_s: float) -> float | None:
        if await self._limiter.hit(_item(amount, window_s), who):
            return None
        return (await self.hits(who, amount, window_s))[1]

    async def hits(self, who: str, amount: int, window_s: float) -> tuple[int, float]:
        reset_at, left = await self._limiter.get_window_stats(_item(amount, window_s), who)
        return amount - left, reset_at - time.time()


RATE_LIMITS = web.AppKey("rate_limits", RateLimits)


def delay_s(failures: int) -> float:
    """How long a log-in waits after so many wrong passwords for its account within a minute."""
    return min(SLOW_MAX_S, SLOW_STEP_S * max(0, failures - SLOW_AFTER))


def _digest(email: str) -> str:
    """An account's key, which is short and of plain letters whatever was sent as an address."""
    return hashlib.sha256(email_key(email).encode()).hexdigest()


def _item(amount: int, window_s: float) -> RateLimitItem:
    return RateLimitItemPerSecond(amount, int(window_s))


def _limited(limit: Limit, room_in_s: float) -> HttpProblem:
    wait_s = max(1, math.ceil(room_in_s))
    detail = f"More than {limit.amount} a {limit.window}; try again in {wait_s} s."
    return HttpProblem("rate_limited", detail, {"limit": limit.amount}, {"Retry-After": str(wait_s)})

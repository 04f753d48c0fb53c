"""Forgotten passwords: a link by mail sets a new one, once and within an hour."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

from daemon.identity.accounts import Identity
from daemon.identity.passwords import Busy
from daemon.mail.mailer import Mails
from daemon.model import StoredAccount, StoredPasswordReset
from daemon.model.audit_events import SERVICE, Logged
from daemon.model.events.company import PasswordResetRequested
from daemon.stores.store import Store

WAITING_MAX = 1_000
LIFETIME = timedelta(hours=1)
TOKEN_BYTES = 32
MAIL, RESET = "mail", "reset"


class ResetExpired(Exception):
    """A token for a new password that does not count: used, expired, or never issued."""


class PasswordResets:
    """Mails links for a new password, and takes the password that comes with one.

    All that depends on whether an address has an account is done after the answer.
    """

    def __init__(self, store: Store, identity: Identity, mails: Mails, now: Callable[[], datetime]) -> None:
        self._store = store
        self._identity = identity
        self._mails = mails
        self._now = now
        self._asked: asyncio.Queue[str] = asyncio.Queue(WAITING_MAX)

    def ask(self, email: str) -> None:
        """Have a link mailed to the account of an address, if there is one; Busy when full."""
        try:
            self._asked.put_nowait(email)
        except asyncio.QueueFull:
            raise Busy from None

    async def work(self) -> None:
        """Mail the next link. Without an account as much is written, to the service's own log."""
        email = await self._asked.get()
        account, now = await self._store.account_by_email(email), self._now()
        if account is None:
            await self._store.log(Logged(SERVICE, PasswordResetRequested(at=now, by=email, until=now, via=MAIL)))
            return
        user, token = account.user, secrets.token_urlsafe(TOKEN_BYTES)
        reset = StoredPasswordReset(_hash(token), user.company_id, user.id, now, now + LIFETIME)
        requested = PasswordResetRequested(
            at=now, by=user.email, reset=reset.token_hash.hex(), until=reset.expires_at, user=user.id, via=MAIL
        )
        await self._store.add_password_reset(reset, Logged(user.company_id, requested))
        self._mails.password_reset(user.email, user.company_id, reset.expires_at, token)

    async def account(self, token: str) -> StoredAccount:
        """The account whose password a token sets; ResetExpired when it sets none."""
        account = await self._store.account_by_reset(_hash(token), self._now())
        if account is None:
            raise ResetExpired
        return account

    async def reset(self, token: str, new: str) -> None:
        """Set a new password and end all sessions; ResetExpired when the token does not count.

        Of two requests with one token one succeeds: the password was changed under the other.
        """
        changed = False
        while not changed:
            changed = await self._identity.set_password(await self.account(token), new, via=RESET)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()

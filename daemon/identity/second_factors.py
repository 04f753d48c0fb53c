"""Second factors: time-based codes (TOTP, RFC 6238), and recovery codes that count once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs
from pyotp import TOTP, random_base32

from actors.ports import StoreFailed
from daemon.identity.passwords import InvalidCredentials
from daemon.keys.vault import SealBroken, Vault
from daemon.model import StoredUser
from daemon.model.audit_events import Caller, Logged, SecondFactorChange, SecondFactorChanged
from daemon.model.chain import digest
from daemon.model.people.credentials import Enrolment, StoredSecondFactor
from daemon.stores.store import Store

ISSUER = "Penstock"
OTP = "otp"
"""A code of a second factor, as a proof (RFC 8176)."""
FIELD = "second_factor"
STEP_S = 30
RECOVERY_CODES = 10
RECOVERY_BYTES = 10
RECOVERY_GROUP = 4


class CodeRequired(Exception):
    """The password is right, and a code of the second factor is needed beside it."""


class WrongCode(InvalidCredentials):
    """The password is right; the code is wrong, or was used before."""


class AlreadyEnrolled(Exception):
    """The person has a second factor that counts."""


class ChangeOrigin(NamedTuple):
    """Who changes a second factor, by what, and in which session; a `caller` that of another."""

    by: str
    via: str
    session_id: str = ""
    caller: Caller | None = None


class Secrets(Struct, frozen=True):
    """What is sealed: the secret of the codes, and SHA-256 of each recovery code that is left."""

    secret: str
    recovery: tuple[str, ...] = ()


class SecondFactors:
    """Enrols people and checks their codes; whose second factor counts is kept in memory."""

    def __init__(self, repository: Store, vault: Vault, now: Callable[[], datetime]) -> None:
        self._repository = repository
        self._vault = vault
        self._now = now
        self._known: dict[str, Enrolment] = {}

    async def open(self) -> None:
        self.apply(await self._repository.enrolments())

    def apply(self, found: Mapping[str, Enrolment]) -> None:
        """Take over what is newer than the known."""
        for user_id, one in found.items():
            known = self._known.get(user_id)
            if known is None or known.number < one.number:
                self._known[user_id] = one

    def counts(self, user_id: str) -> bool:
        """Whether a person has a second factor that counts."""
        known = self._known.get(user_id)
        return known is not None and known.counts

    def confirmed_in(self, user_id: str, session_id: str) -> bool:
        """Whether the person confirmed a second factor that counts in this session."""
        known = self._known.get(user_id)
        return known is not None and known.counts and known.session_id == session_id != ""

    def proven(self, user_id: str, session_id: str, amr: tuple[str, ...]) -> bool:
        """Whether this session proved a second factor that the person still has."""
        return self.counts(user_id) and (OTP in amr or self.confirmed_in(user_id, session_id))

    async def begin(self, user: StoredUser, change: ChangeOrigin) -> tuple[str, str]:
        """A new secret, and its URI for an app; it counts once it is confirmed."""
        stored = await self._repository.second_factor(user.id)
        if stored is not None and stored.counts:
            raise AlreadyEnrolled
        secret, now = random_base32(), self._now()
        number = 0 if stored is None else stored.number
        fresh = StoredSecondFactor(user.company_id, user.id, number, await self._sealed(user, Secrets(secret)), now)
        if not await self._put(fresh, "begun", change, now):
            raise AlreadyEnrolled  # by another request of the same person
        return secret, TOTP(secret).provisioning_uri(name=user.email, issuer_name=ISSUER)

    async def confirm(self, user: StoredUser, code: str, change: ChangeOrigin) -> tuple[str, ...]:
        """The recovery codes of a second factor that counts from now on; WrongCode if it does not.

        A second factor that was not begun is confirmed by no code.
        """
        stored, now = await self._repository.second_factor(user.id), self._now()
        if stored is not None and stored.counts:
            raise AlreadyEnrolled
        held = None if stored is None else await self._opened(user, stored)
        step = None if held is None else step_of(held.secret, code, now)
        if stored is None or held is None or step is None:
            raise WrongCode
        codes = tuple(_recovery_code() for _ in range(RECOVERY_CODES))
        sealed = await self._sealed(user, structs.replace(held, recovery=tuple(map(_hashed, codes))))
        confirmed = replace(
            stored, sealed_secret=sealed, confirmed_at=now, last_step=step, session_id=change.session_id
        )
        if not await self._put(confirmed, "confirmed", change, now):
            raise WrongCode  # another one was begun meanwhile
        return codes

    async def prove(self, user: StoredUser, code: str | None, via: str) -> bool:
        """Use a code; CodeRequired without one, WrongCode for one that does not count.

        Of a person without a second factor none is asked for: False.
        """
        stored, now = await self._repository.second_factor(user.id), self._now()
        held = None if stored is None or not stored.counts else await self._opened(user, stored)
        if stored is None or held is None:
            return False
        if code is None:
            raise CodeRequired
        step = step_of(held.secret, code, now)
        if step is not None:
            used = await self._repository.use_step(stored, step)
        else:
            used = await self._recovered(user, stored, held, code, via)
        if not used:
            raise WrongCode
        return True

    async def remove(self, user: StoredUser, code: str | None, change: ChangeOrigin) -> None:
        """Remove one's own second factor by a code of it; as `prove`."""
        await self.prove(user, code, change.via)
        await self._ended(user, "removed", change)

    async def reset(self, user: StoredUser, change: ChangeOrigin) -> bool:
        """Remove another's second factor; False when there is none."""
        return await self._ended(user, "reset", change)

    async def _ended(self, user: StoredUser, how: SecondFactorChange, change: ChangeOrigin) -> bool:
        ended = await end_second_factor(self._repository, user, how, change, self._now)
        if ended is not None:
            self.apply({user.id: Enrolment(ended.number, counts=False)})
        return ended is not None

    async def _recovered(
        self, user: StoredUser, stored: StoredSecondFactor, held: Secrets, code: str, via: str
    ) -> bool:
        """Use a recovery code; False when it is none of those left."""
        given = _hashed(code)
        left = tuple(one for one in held.recovery if not hmac.compare_digest(one, given))
        if len(left) == len(held.recovery):
            return False
        sealed = await self._sealed(user, structs.replace(held, recovery=left))
        used = replace(stored, sealed_secret=sealed)
        return await self._put(used, "recovery_code_used", ChangeOrigin(user.email, via), self._now())

    async def _put(
        self, factor: StoredSecondFactor, how: SecondFactorChange, change: ChangeOrigin, at: datetime
    ) -> bool:
        """Store the next change of a second factor; False when there was another meanwhile."""
        fresh = replace(factor, number=factor.number + 1)
        if not await self._repository.put_second_factor(fresh, _changed(fresh, how, change, at)):
            return False
        self.apply({fresh.user_id: Enrolment(fresh.number, fresh.counts, fresh.session_id)})
        return True

    async def _sealed(self, user: StoredUser, held: Secrets) -> bytes:
        try:
            return await self._vault.seal(user.company_id, user.id, FIELD, msgspec.json.encode(held).decode())
        except SealBroken as broken:
            raise StoreFailed(f"The second factor could not be sealed: {broken}", "not_applied") from broken

    async def _opened(self, user: StoredUser, stored: StoredSecondFactor) -> Secrets | None:
        if stored.sealed_secret is None:
            return None
        try:
            plain = await self._vault.open(user.company_id, user.id, FIELD, stored.sealed_secret)
        except SealBroken as broken:
            raise StoreFailed(f"The second factor could not be opened: {broken}", "not_applied") from broken
        return msgspec.json.decode(plain, type=Secrets)


def step_of(secret: str, code: str, now: datetime) -> int | None:
    """The time step of a code: the current one, or one beside it; None for a wrong code."""
    current, given = int(now.timestamp()) // STEP_S, _plain(code).encode()
    steps = (current - 1, current, current + 1)
    fitting = [step for step in steps if hmac.compare_digest(TOTP(secret).generate_otp(step).encode(), given)]
    return fitting[-1] if fitting else None


async def end_second_factor(
    repository: Store,
    user: StoredUser,
    how: SecondFactorChange,
    change: ChangeOrigin,
    now: Callable[[], datetime],
) -> StoredSecondFactor | None:
    """Remove a second factor; None when there is none."""
    while (stored := await repository.second_factor(user.id)) is not None and stored.sealed_secret is not None:
        fresh = replace(stored, number=stored.number + 1, sealed_secret=None)
        if await repository.put_second_factor(fresh, _changed(fresh, how, change, now())):
            return fresh
    return None


def _changed(factor: StoredSecondFactor, how: SecondFactorChange, change: ChangeOrigin, at: datetime) -> Logged:
    """The event of a change; it tells of the secret by a digest of the sealed one."""
    sealed = factor.sealed_secret
    event = SecondFactorChanged(
        at=at,
        by=change.by,
        change=how,
        number=factor.number,
        session=factor.session_id,
        secret_digest=None if sealed is None else digest(sealed),
        user=factor.user_id,
        via=change.via,
    )
    return Logged(factor.company_id, event, caller=change.caller)


def _recovery_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode()
    return "-".join(text[first : first + RECOVERY_GROUP] for first in range(0, len(text), RECOVERY_GROUP))


def _hashed(code: str) -> str:
    return hashlib.sha256(_plain(code).encode()).hexdigest()


def _plain(code: str) -> str:
    """A code without the signs that people write between its letters."""
    return "".join(code.split()).replace("-", "").upper()

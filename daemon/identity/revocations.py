"""Which tokens no longer count, and the present roles of members whose tokens say otherwise."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from daemon.identity.tokens import MembershipEnded, Principal
from daemon.model import MembershipState, TokenEpoch


class MembershipStates:
    """How members stand that were changed within the longest lifetime of a token.

    Kept in memory for all of them until the daemon ends: each is a few words.
    """

    def __init__(self) -> None:
        self._known: dict[str, MembershipState] = {}
        self._listeners: list[Callable[[str], None]] = []

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call the listener with the company whenever a member changes, here or elsewhere."""
        self._listeners.append(listener)

    def update(self, standings: Mapping[str, MembershipState]) -> None:
        """Add what is not older than what is known: changes of two daemons arrive in any order."""
        companies = set()
        for member_id, standing in standings.items():
            known = self._known.get(member_id)
            if known is None or known.changed_at < standing.changed_at:
                self._known[member_id] = standing
                companies.add(standing.company_id)
        for company_id in companies:
            for listener in self._listeners:
                listener(company_id)

    def with_present_role(self, principal: Principal) -> Principal:
        """The holder of a token with the present role; MembershipEnded once removed."""
        known = self._known.get(principal.member_id)
        if known is None or known.role == principal.role:
            return principal
        if known.role is None:
            raise MembershipEnded
        return replace(principal, role=known.role)


class RightsChanged:
    """Wakes those who wait until rights may have ended."""

    def __init__(self) -> None:
        self._next: asyncio.Event = asyncio.Event()

    def next(self) -> asyncio.Event:
        """What is set as soon as any rights have changed from now on."""
        return self._next

    def tell(self, *_: object) -> None:
        self._next.set()
        self._next = asyncio.Event()


class Revoked:
    """The ids of revoked tokens and ended sessions, until their last token has expired."""

    def __init__(self) -> None:
        self._expiries: list[tuple[datetime, str]] = []
        self._ids: set[str] = set()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, ended_id: str) -> bool:
        return ended_id in self._ids

    def update(self, revoked: Mapping[str, datetime], now: datetime) -> None:
        """Add ids, each with the expiry of its last token, and drop expired ones."""
        for ended_id, expires_at in revoked.items():
            if ended_id not in self._ids:
                self._ids.add(ended_id)
                heapq.heappush(self._expiries, (expires_at, ended_id))
        while self._expiries and self._expiries[0][0] <= now:
            self._ids.discard(heapq.heappop(self._expiries)[1])


class Epochs:
    """The epochs of users whose earlier tokens have not all expired."""

    def __init__(self) -> None:
        self._epochs: dict[str, TokenEpoch] = {}

    def __len__(self) -> int:
        return len(self._epochs)

    def update(self, found: Mapping[str, TokenEpoch], now: datetime) -> None:
        """Add later epochs, and drop those whose earlier tokens have expired."""
        for user_id, epoch in found.items():
            known = self._epochs.get(user_id)
            if known is None or known.number < epoch.number:
                self._epochs[user_id] = epoch
        if found:
            self._epochs = {user_id: epoch for user_id, epoch in self._epochs.items() if epoch.until > now}

    def past(self, user_id: str, number: int, session_id: str) -> bool:
        """Whether a token of that epoch no longer counts."""
        epoch = self._epochs.get(user_id)
        return epoch is not None and number < epoch.number and session_id != epoch.kept

"""Which tokens no longer count: revoked ones, those of ended sessions, and those of past epochs."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Mapping
from datetime import datetime

from daemon.model import TokenEpoch


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

"""What each connection is used for, so that the least useful one makes room for a new one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum, auto
from itertools import islice

from aiohttp import web

from daemon.observability.logs import ThrottledLog
from daemon.web.middleware.auth import NOBODY, company_of

SPARE_MAX = 64
YOUNG_S = 1.0
LOOKED_AT_MAX = 32
NETWORKS_LOOKED_AT_MAX = 256
PACE_S = 0.005
PACE_BURST_S = 0.25


class Use(IntEnum):
    """In the order in which connections make room; one at work never does."""

    NEW = auto()
    UNKNOWN_BODY = auto()
    IDLE = auto()
    STREAM = auto()
    BODY = auto()
    WORK = auto()


NEEDED_LITTLE = (Use.NEW, Use.UNKNOWN_BODY, Use.IDLE, Use.STREAM)
BEFORE_WORK = frozenset({Use.NEW, Use.IDLE})


class HeldConnection:
    """A connection in use, and who holds it: a company, or else a network."""

    __slots__ = ("holder", "network", "since", "transport", "use")

    def __init__(self, transport: asyncio.Transport, network: str) -> None:
        self.transport = transport
        self.network = self.holder = network
        self.since = 0.0
        self.use = Use.NEW


class Occupancy:
    """The open connections, at most `connections_max` and a few spare ones.

    Beyond `connections_max` a new connection takes the place of another: of the first use for which
    there is one, and among the oldest of that use one of whoever holds most. From a network that
    has fewer connections that always works, and ends even one that was opened just now; from others
    at a pace of 200 a second for each network, and never at the cost of a company's body from
    another network. Where all are at work it is a spare one, and is asked for the health alone.
    """

    def __init__(self, connections_max: int) -> None:
        self.connections_max = connections_max
        self._held: dict[asyncio.BaseTransport, HeldConnection] = {}
        self._by_use: dict[Use, dict[HeldConnection, None]] = {use: {} for use in Use}
        self._new: dict[str, dict[HeldConnection, None]] = {}
        self._counts: Counter[tuple[Use, str]] = Counter()
        self._networks: Counter[str] = Counter()
        self._next_at: dict[str, float] = {}
        self._spare: set[asyncio.BaseTransport] = set()
        self._log = ThrottledLog("connections_make_room")

    def count(self, use: Use) -> int:
        return len(self._by_use[use])

    def open(self, transport: asyncio.Transport, network: str) -> bool:
        """Count a new connection; False if there is no room for it."""
        if len(self._held) >= self.connections_max and not self._make_room(transport, network):
            return False
        self._networks[network] += 1
        self._held[transport] = held = HeldConnection(transport, network)
        self._begin(held, Use.NEW, network)
        return True

    def close(self, transport: asyncio.BaseTransport) -> None:
        self._spare.discard(transport)
        held = self._held.pop(transport, None)
        if held is not None:
            self._end(held)
            self._networks[held.network] -= 1
            if not self._networks[held.network]:
                del self._networks[held.network]
                self._next_at.pop(held.network, None)

    def use(self, transport: asyncio.BaseTransport | None, use: Use, company_id: str = NOBODY) -> None:
        """Say what a connection is used for from now on."""
        if transport is not None and (held := self._held.get(transport)) is not None:
            self._end(held)
            self._begin(held, use, company_id or held.network)

    def is_spare(self, transport: asyncio.BaseTransport | None) -> bool:
        return transport in self._spare

    def _begin(self, held: HeldConnection, use: Use, holder: str) -> None:
        held.use, held.holder, held.since = use, holder, asyncio.get_running_loop().time()
        self._by_use[use][held] = None
        self._counts[use, holder] += 1
        if use is Use.NEW:
            self._new.setdefault(held.network, {})[held] = None

    def _end(self, held: HeldConnection) -> None:
        del self._by_use[held.use][held]
        key = held.use, held.holder
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
        if held.use is Use.NEW:
            new = self._new[held.network]
            del new[held]
            if not new:
                del self._new[held.network]

    def _make_room(self, transport: asyncio.Transport, network: str) -> bool:
        """End the connection that is needed least; without one the new one is a spare one."""
        last = self._oldest_of(*NEEDED_LITTLE) or self._of_the_many(network) or self._body_for(network)
        if last is None:
            if len(self._spare) < SPARE_MAX:
                self._spare.add(transport)
            return transport in self._spare
        if self._networks[network] >= self._networks[last.network] and not self._in_pace(network):
            return False
        self._log.warn(use=last.use.name.lower())
        self.close(last.transport)
        last.transport.abort()
        return True

    def _oldest_of(self, *uses: Use) -> HeldConnection | None:
        for use in uses:
            most = max(self._ready(use), key=lambda held: self._counts[use, held.holder], default=None)
            if most is not None:
                return most
        return None

    def _ready(self, use: Use) -> Iterator[HeldConnection]:
        """Those of the oldest that are not about to be at work, and whose responses are sent."""
        oldest = islice(self._by_use[use], LOOKED_AT_MAX)
        if use not in BEFORE_WORK:
            yield from oldest
            return
        old = asyncio.get_running_loop().time() - YOUNG_S
        for held in oldest:
            if held.since > old:  # and so are those behind it
                return
            if held.transport.get_write_buffer_size() == 0:
                yield held

    def _of_the_many(self, network: str) -> HeldConnection | None:
        """One that has not sent a request yet, of a network with more connections than this one."""
        most = max(islice(self._new, NETWORKS_LOOKED_AT_MAX), key=self._networks.__getitem__, default=network)
        return next(reversed(self._new[most])) if self._networks[most] > self._networks[network] + 1 else None

    def _body_for(self, network: str) -> HeldConnection | None:
        """A company's body that arrives from this network, or from one with more connections."""
        body = self._oldest_of(Use.BODY)
        theirs = (
            body is not None and body.network != network and self._networks[body.network] <= self._networks[network]
        )
        return None if theirs else body

    def _in_pace(self, network: str) -> bool:
        """Whether one more may go for a network that has as many: to come again costs."""
        now = asyncio.get_running_loop().time()
        next_at = max(self._next_at.get(network, 0.0), now)
        if next_at > now + PACE_BURST_S:
            return False
        self._next_at[network] = next_at + PACE_S
        return True


OCCUPANCY = web.AppKey("occupancy", Occupancy)


@contextmanager
def used_for(request: web.Request, use: Use) -> Iterator[None]:
    """Say what the connection of a request is used for, until it is at work again."""
    occupancy, transport, company_id = request.app[OCCUPANCY], request.transport, company_of(request)
    occupancy.use(transport, use, company_id)
    try:
        yield
    finally:
        occupancy.use(transport, Use.WORK, company_id)


@contextmanager
def receiving(request: web.Request) -> Iterator[None]:
    """Say that a request receives its body."""
    with used_for(request, Use.UNKNOWN_BODY if company_of(request) == NOBODY else Use.BODY):
        yield

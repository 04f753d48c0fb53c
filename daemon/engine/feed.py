"""The feed: hands committed events to whoever follows a run or a company, without ever making the actors wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from actors.core.messages import Event
from actors.core.run import Run

FOLLOWER_MAX = 1_000


class RunSubscription:
    """One who follows a run: a bounded queue of what was committed, closed when its reader falls too far behind."""

    def __init__(self) -> None:
        """Begin empty."""
        self._queue: asyncio.Queue[tuple[Run | None, Sequence[Event]] | None] = asyncio.Queue(FOLLOWER_MAX)

    def put(self, run: Run | None, events: Sequence[Event] = ()) -> bool:
        """Take a commit, or without a run that connectors have changed; False when the reader is too far behind."""
        try:
            self._queue.put_nowait((run, events))
        except asyncio.QueueFull:
            return False
        return True

    async def next(self) -> tuple[Run | None, Sequence[Event]]:
        """The next commit: the run after it, and its events; no run where connectors have changed."""
        item = await self._queue.get()
        if item is None:
            raise EOFError
        return item

    def close(self) -> None:
        """Let the reader go: what is queued is dropped."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)


class CompanySubscription:
    """One who follows a company: told that there is more, not what, since that is read from the journal in its order.

    So a reader who is slow never has more than one call waiting. `reconnected` says that connectors have changed since
    it was looked at last.
    """

    def __init__(self) -> None:
        """Begin silent."""
        self._rung = asyncio.Event()
        self._closed = False
        self.reconnected = False

    def ring(self) -> None:
        """Say that there is more."""
        self._rung.set()

    async def next(self) -> bool:
        """Wait until there is more."""
        await self._rung.wait()
        if self._closed:
            raise EOFError
        self._rung.clear()
        return True

    def close(self) -> None:
        """Let the reader go."""
        self._closed = True
        self._rung.set()


class Feed:
    """Who follows which run, and which company."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._followers: dict[tuple[str, str], set[RunSubscription]] = {}
        self._bells: dict[str, set[CompanySubscription]] = {}
        self._told: list[Callable[[Run, Sequence[Event]], None]] = []
        self._closed = False

    def tell(self, told: Callable[[Run, Sequence[Event]], None]) -> None:
        """Have this called with every commit of every run, for as long as the service runs."""
        self._told.append(told)

    def publish(self, run: Run, events: Sequence[Event]) -> None:
        """Hand committed events to the run's followers; one who is too far behind is let go and comes back."""
        for told in self._told:
            told(run, events)
        followers = self._followers.get((run.company_id, run.id))
        for follower in tuple(followers or ()):
            if not follower.put(run, events):
                follower.close()
        for bell in self._bells.get(run.company_id, ()):
            bell.ring()

    def connectors_changed(self, company_id: str) -> None:
        """Tell the company's followers that its connectors have changed, which may touch any open gate of its runs."""
        for key, followers in self._followers.items():
            for follower in tuple(followers) if key[0] == company_id else ():
                if not follower.put(None):
                    follower.close()
        for bell in self._bells.get(company_id, ()):
            bell.reconnected = True
            bell.ring()

    @contextmanager
    def follow(self, company_id: str, run_id: str) -> Iterator[RunSubscription]:
        """Follow a run from now on."""
        key, follower = (company_id, run_id), RunSubscription()
        self._followers.setdefault(key, set()).add(follower)
        if self._closed:
            follower.close()
        try:
            yield follower
        finally:
            followers = self._followers[key]
            followers.discard(follower)
            if not followers:
                del self._followers[key]

    @contextmanager
    def listen(self, company_id: str) -> Iterator[CompanySubscription]:
        """Follow all runs of a company from now on."""
        bell = CompanySubscription()
        self._bells.setdefault(company_id, set()).add(bell)
        if self._closed:
            bell.close()
        try:
            yield bell
        finally:
            bells = self._bells[company_id]
            bells.discard(bell)
            if not bells:
                del self._bells[company_id]

    @property
    def runs(self) -> set[tuple[str, str]]:
        """The runs that somebody follows."""
        return set(self._followers)

    @property
    def companies(self) -> set[str]:
        """The companies that somebody follows."""
        return set(self._bells)

    def ring(self, company_id: str) -> None:
        """Say to a company's followers that there is more, committed elsewhere."""
        for bell in self._bells.get(company_id, ()):
            bell.ring()

    def close(self) -> None:
        """Let every follower go, since nothing more will come."""
        self._closed = True
        for followers in self._followers.values():
            for follower in followers:
                follower.close()
        for bells in self._bells.values():
            for bell in bells:
                bell.close()

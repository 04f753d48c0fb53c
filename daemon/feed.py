"""The feed: hands committed events to whoever follows a run, without ever making the actors wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from actors.messages import Event
from actors.run import Run

FOLLOWER_MAX = 1_000


class Follower:
    """One who follows a run: a bounded queue of what was committed, closed when its reader falls too far behind."""

    def __init__(self) -> None:
        """Begin empty."""
        self._queue: asyncio.Queue[tuple[Run, Sequence[Event]] | None] = asyncio.Queue(FOLLOWER_MAX)

    def put(self, run: Run, events: Sequence[Event]) -> bool:
        """Take a commit; False when the reader is too far behind."""
        try:
            self._queue.put_nowait((run, events))
        except asyncio.QueueFull:
            return False
        return True

    async def next(self) -> tuple[Run, Sequence[Event]]:
        """The next commit: the run after it, and its events."""
        item = await self._queue.get()
        if item is None:
            raise EOFError
        return item

    def close(self) -> None:
        """Let the reader go: what is queued is dropped."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)


class Feed:
    """Who follows which run."""

    def __init__(self, told: Callable[[Run, Sequence[Event]], None] | None = None) -> None:
        """Begin with nobody; `told` hears of every commit."""
        self._told = told
        self._followers: dict[tuple[str, str], set[Follower]] = {}
        self._closed = False

    def publish(self, run: Run, events: Sequence[Event]) -> None:
        """Hand committed events to the run's followers; one who is too far behind is let go and comes back."""
        if self._told is not None:
            self._told(run, events)
        followers = self._followers.get((run.company_id, run.id))
        for follower in tuple(followers or ()):
            if not follower.put(run, events):
                follower.close()

    @contextmanager
    def follow(self, company_id: str, run_id: str) -> Iterator[Follower]:
        """Follow a run from now on."""
        key, follower = (company_id, run_id), Follower()
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

    def close(self) -> None:
        """Let every follower go, since nothing more will come."""
        self._closed = True
        for followers in self._followers.values():
            for follower in followers:
                follower.close()

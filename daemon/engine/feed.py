"""Passes committed events to those who follow a run or a company, and never makes actors wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from actors.core.messages import Event
from actors.core.run import Run

QUEUE_MAX = 1_000
Listener = Callable[[Run, Sequence[Event]], None]


class RunSubscription:
    """A bounded queue of a run's commits, closed when its reader falls too far behind."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Run | None, Sequence[Event]] | None] = asyncio.Queue(QUEUE_MAX)

    def put(self, run: Run | None, events: Sequence[Event] = ()) -> None:
        """Add a commit, or no run when connectors have changed; closes when the queue is full."""
        try:
            self._queue.put_nowait((run, events))
        except asyncio.QueueFull:
            self.close()

    async def next(self) -> tuple[Run | None, Sequence[Event]]:
        """The next commit, or no run when connectors have changed; EOFError when closed."""
        item = await self._queue.get()
        if item is None:
            raise EOFError
        return item

    def close(self) -> None:
        """Drop the queued commits, and end the subscription."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)


class CompanySubscription:
    """A signal that there is more to read from the journal, so that a slow reader queues nothing.

    `connectors_changed`, `people_changed` and `claims_changed`, which has the runs, stay set until
    the reader resets them.
    """

    def __init__(self) -> None:
        self._more = asyncio.Event()
        self._closed = False
        self.connectors_changed = False
        self.people_changed = False
        self.claims_changed: set[str] = set()

    def notify(self) -> None:
        self._more.set()

    async def next(self) -> bool:
        """Wait until there is more; EOFError when closed."""
        await self._more.wait()
        if self._closed:
            raise EOFError
        self._more.clear()
        return True

    def close(self) -> None:
        self._closed = True
        self._more.set()


K = TypeVar("K")
S = TypeVar("S", RunSubscription, CompanySubscription)


class Feed:
    def __init__(self) -> None:
        self._by_run: dict[tuple[str, str], set[RunSubscription]] = {}
        self._by_company: dict[str, set[CompanySubscription]] = {}
        self._listeners: list[Listener] = []
        self._closed = False

    def subscribe(self, listener: Listener) -> None:
        """Call the listener with every commit for as long as the service runs."""
        self._listeners.append(listener)

    def publish(self, run: Run, events: Sequence[Event]) -> None:
        for listener in self._listeners:
            listener(run, events)
        for subscription in tuple(self._by_run.get((run.company_id, run.id), ())):
            subscription.put(run, events)
        self.notify(run.company_id)

    def connectors_changed(self, company_id: str) -> None:
        """Tell subscribers of a company: its open gates may be affected."""
        self._look_at_gates(company_id)
        for company in self._by_company.get(company_id, ()):
            company.connectors_changed = True
            company.notify()

    def _look_at_gates(self, company_id: str) -> None:
        for key, subscriptions in self._by_run.items():
            for subscription in tuple(subscriptions) if key[0] == company_id else ():
                subscription.put(None)

    def people_changed(self, company_id: str) -> None:
        """Tell subscribers of a company: rights may have changed, or who fills a function."""
        self._look_at_gates(company_id)
        for company in self._by_company.get(company_id, ()):
            company.people_changed = True
            company.notify()

    def claims_changed(self, company_id: str, run_id: str) -> None:
        """Tell subscribers of a company that a gate of a run was claimed or released."""
        for company in self._by_company.get(company_id, ()):
            company.claims_changed.add(run_id)
            company.notify()

    def follow(self, company_id: str, run_id: str) -> AbstractContextManager[RunSubscription]:
        return self._subscribed(self._by_run, (company_id, run_id), RunSubscription())

    def listen(self, company_id: str) -> AbstractContextManager[CompanySubscription]:
        return self._subscribed(self._by_company, company_id, CompanySubscription())

    @contextmanager
    def _subscribed(self, all_by_key: dict[K, set[S]], key: K, subscription: S) -> Iterator[S]:
        all_by_key.setdefault(key, set()).add(subscription)
        if self._closed:
            subscription.close()
        try:
            yield subscription
        finally:
            all_by_key[key].discard(subscription)
            if not all_by_key[key]:
                del all_by_key[key]

    @property
    def runs(self) -> set[tuple[str, str]]:
        return set(self._by_run)

    @property
    def companies(self) -> set[str]:
        return set(self._by_company)

    def notify(self, company_id: str) -> None:
        for subscription in self._by_company.get(company_id, ()):
            subscription.notify()

    def close(self) -> None:
        self._closed = True
        for runs in self._by_run.values():
            for run in runs:
                run.close()
        for companies in self._by_company.values():
            for company in companies:
                company.close()

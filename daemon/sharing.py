"""What a daemon among others needs between its actors and the store: whose work is whose.

The row of a run names the daemon that performs what is outstanding: the one whose commit took it out of rest. Another
one may move the run on meanwhile, and performs nothing. When a daemon is gone its runs are claimed, and whatever was
outstanding then may have been begun.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from actors.messages import Effect
from actors.ports import Commit, Effects, StoreFailed
from actors.run import Run
from daemon.ports import StoredConnector

Key = tuple[str, str]


class SharedRuns(Protocol):
    """The store, as far as it is a journal of several daemons."""

    @property
    def epoch(self) -> int:
        """The number of this daemon's life; no other ever had it."""

    async def append_standing(self, commit: Commit) -> int:
        """Make a commit durable; returns the epoch of the daemon that performs what is outstanding behind it."""

    async def load_standing(self, company_id: str, run_id: str) -> tuple[Run, int] | None:
        """The run as committed, and the epoch of the daemon that performs what is outstanding."""

    async def claim(self) -> Sequence[Key]:
        """Take over the outstanding work of daemons that are gone."""


class SharedJournal:
    """The journal of a daemon's actors, which remembers for a moment whose the outstanding work of a run is."""

    def __init__(self, store: SharedRuns) -> None:
        """Begin with nothing outstanding."""
        self._store = store
        self._epochs: dict[Key, int] = {}
        self._claimed: set[Key] = set()

    @property
    def claimed(self) -> set[Key]:
        """The runs that were claimed, and of which nothing was performed since."""
        return set(self._claimed)

    async def append(self, commit: Commit) -> None:
        """Make a commit durable, or raise VersionConflict, ReceiptTaken or StoreFailed."""
        run = commit.run
        self._note(run, await self._store.append_standing(commit))

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run."""
        found = await self._store.load_standing(company_id, run_id)
        if found is None:
            return None
        self._note(*found)
        return found[0]

    async def claim(self) -> Sequence[Key]:
        """Take over the outstanding work of daemons that are gone."""
        keys = await self._store.claim()
        self._claimed.update(keys)
        return keys

    def mine(self, key: Key) -> bool:
        """Whether this daemon performs what is outstanding in a run that was just loaded or appended to."""
        return self._epochs.pop(key, None) == self._store.epoch

    def taken_over(self, key: Key) -> bool:
        """Whether it was taken over from another daemon, and nothing was performed since: true only once."""
        taken = key in self._claimed
        self._claimed.discard(key)
        return taken

    def _note(self, run: Run, epoch: int) -> None:
        key = (run.company_id, run.id)
        if run.resting:
            self._claimed.discard(key)
        else:
            self._epochs[key] = epoch


class OwnEffects:
    """The effects that are this daemon's to perform; what was taken over may have been begun."""

    def __init__(self, journal: SharedJournal, effects: Effects) -> None:
        """Hand on what is ours."""
        self._journal = journal
        self._effects = effects

    def perform(self, effects: Sequence[Effect], *, recovered: bool) -> None:
        """See to it that each effect of a run is under way, if it is ours.

        A load alone says nothing: the run may just have been moved on by another daemon. What we began in this life we
        know of, and nobody else begins what is ours; so only what is known to have been answered is taken up as such.
        """
        key = (effects[0].company_id, effects[0].run_id)
        if not self._journal.mine(key):
            return
        taken = self._journal.taken_over(key)
        self._effects.perform(effects, recovered=taken)
        if recovered and not taken:
            self._effects.perform(effects, recovered=True)

    def forget(self, company_id: str, run_id: str) -> None:
        """Begin nothing more for a run that has ended."""
        self._effects.forget(company_id, run_id)


class Shelf(Protocol):
    """Where connectors are found as they are now."""

    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        """The company's connector of that tool-id."""


class LeasedShelf:
    """Connectors, as long as the lease is held: they are looked up right before each call, and none is made without."""

    def __init__(self, shelf: Shelf, held: Callable[[], bool]) -> None:
        """Look up there."""
        self._shelf = shelf
        self._held = held

    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        """The company's connector of that tool-id; StoreFailed while another daemon may have taken over."""
        found = await self._shelf.stored(company_id, tool_id)
        if not self._held():
            raise StoreFailed("This daemon's lease is not renewed; nothing was sent.", "not_applied")
        return found

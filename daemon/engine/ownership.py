"""Ownership of runs among daemons on a shared store.

The row of a run names the daemon that performs its effects: the one whose commit made it
unfinished. Others may move the run on, and perform nothing. Another daemon claims the runs of one
that is gone; the effects outstanding then may have been started.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from actors.core.calls import Connector
from actors.core.messages import Effect
from actors.core.run import Run
from actors.ports import Commit, CommittedRun, Effects, StoreFailed
from daemon.connectors.servers import TOOL, stored_tool
from daemon.connectors.service import find_deleted
from daemon.model import Ownership, StoredConnector

if TYPE_CHECKING:
    from daemon.stores.postgres.store import PostgresStore  # noqa: TC004 - it takes time to import

Key = tuple[str, str]
LOOKS_S = (0.0, 2.0, 10.0)  # the database may still commit after the connection is lost


class SharedJournal:
    """Journal of one daemon's actors on a shared store; knows who performs the effects of a run."""

    shared = True

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._performs: dict[Key, Ownership] = {}
        self._claimed: set[Key] = set()
        self._taken: dict[Key, int] = {}
        self._doubtful: dict[Key, list[float]] = {}

    @property
    def claimed(self) -> set[Key]:
        """The claimed runs whose effects were not performed yet."""
        return set(self._claimed)

    def doubtful(self) -> list[Key]:
        """The runs to reload now, since a commit may have happened without a reply."""
        now = asyncio.get_running_loop().time()
        due = [key for key, times in self._doubtful.items() if times[0] <= now]
        for key in due:
            self._doubtful[key].pop(0)
            if not self._doubtful[key]:
                del self._doubtful[key]
        return due

    async def append(self, commit: Commit) -> bytes:
        run = commit.run
        try:
            performs, head = await self._store.append_owned(commit)
        except StoreFailed as failed:
            if failed.outcome == "unknown":
                now = asyncio.get_running_loop().time()
                self._doubtful[run.company_id, run.id] = [now + later_s for later_s in LOOKS_S]
            raise
        self._note(run, performs)
        return head

    async def load_committed(self, company_id: str, run_id: str) -> CommittedRun | None:
        found = await self._store.load_owned(company_id, run_id)
        if found is None:
            return None
        self._note(found.run, found.performs)
        return CommittedRun(found.run, found.head)

    async def claim(self) -> Sequence[Key]:
        keys = await self._store.claim()
        self._claimed.update(keys)
        return keys

    def mine(self, key: Key) -> bool | None:
        """Whether the effects of a run just loaded or appended were taken over; None: not ours.

        Effects outstanding at the claim count as taken over once.
        """
        performs = self._performs.pop(key, None)
        if performs is None or performs.epoch != self._store.epoch:
            return None
        self._claimed.discard(key)
        taken = performs.claimed != self._taken.get(key, 0)
        if performs.claimed:
            self._taken[key] = performs.claimed
        return taken

    def _note(self, run: Run, performs: Ownership) -> None:
        key = (run.company_id, run.id)
        if run.resting:
            self._claimed.discard(key)
            self._taken.pop(key, None)
        else:
            self._performs[key] = performs


@dataclass(frozen=True, slots=True)
class OwnEffects:
    """Performs the effects of this daemon; those taken over may have been started."""

    _journal: SharedJournal
    _effects: Effects

    def perform(self, effects: Sequence[Effect], *, recovered: bool) -> None:  # noqa: ARG002 - see below
        """Start the effects of a run, if they are ours.

        A load alone does not tell: another daemon may have moved the run on.
        """
        key = (effects[0].company_id, effects[0].run_id)
        taken = self._journal.mine(key)
        if taken is not None:
            self._effects.perform(effects, recovered=taken)

    def forget(self, company_id: str, run_id: str) -> None:
        self._effects.forget(company_id, run_id)


@dataclass(frozen=True, slots=True)
class LeasedConnectors:
    """Reads connectors right before each call; fails unless this daemon's lease is held."""

    _repository: PostgresStore

    async def stored(self, company_id: str, tool_id: str) -> StoredConnector | None:
        """The company's connector; StoreFailed while another daemon may have taken over."""
        server = tool_id.partition(TOOL)[0] if TOOL in tool_id else None
        servers = [] if server is None else await self._repository.servers_of(company_id)
        found = await self._repository.connectors_of(company_id)
        if not self._repository.held:
            raise StoreFailed("This daemon's lease is not renewed; nothing was sent.", "not_applied")
        if server is not None:
            return stored_tool(next((one for one in servers if one.name == server), None), tool_id)
        return next((one for one in found if one.connector.tool_id == tool_id), None)

    async def find_deleted(self, company_id: str, tool_id: str) -> Connector | None:
        """The connector that the last change of the tool-id deleted."""
        return await find_deleted(self._repository, company_id, tool_id)

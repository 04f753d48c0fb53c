"""The store of the simulation: a disk that outlives processes, and the journal that each process
opens on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from actors.core.run import Run
from actors.ports import Commit, CommittedRun, Receipt, ReceiptTaken, StoreFailed, VersionConflict
from daemon.model import DueRun, StoredConnector, StoredConnectorChange
from daemon.model.people.changes import ChangeDecision
from daemon.stores import codec
from daemon.stores.group_commit import Writer
from tests.memory_database import MemoryRepositories
from tests.sim.rooms import rows_after

if TYPE_CHECKING:
    from tests.sim.process import Process
    from tests.sim.world import World

Key = tuple[str, str]
Position = tuple[str, str, str]
Work = Callable[["Transaction"], bytes]
LOAD_S = 0.01
LOAD_WEIGHT = 0.2
WRITE_S = 0.02


@dataclass
class Kept:
    """What the disk has of a run."""

    version: int = 0
    head: bytes = b""
    resting: bool = True
    snapshot: bytes = b""
    wake_at: datetime | None = None
    reviewed: bool = False
    commits: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    readers: frozenset[tuple[Any, ...]] = frozenset()
    receipt: Position | None = None
    """That of the last commit."""
    before: Kept | None = None
    """What it had before the last commit."""


NEW = Kept()


@dataclass
class Disk:
    """What is durable, whatever happens to processes."""

    runs: dict[Key, Kept] = field(default_factory=dict)
    receipts: dict[Position, Receipt] = field(default_factory=dict)
    checks_versions: ClassVar[bool] = True
    checks_heads: ClassVar[bool] = True

    def run(self, key: Key) -> Run | None:
        kept = self.runs.get(key)
        return None if kept is None else codec.decode_run(kept.snapshot)

    def events(self, key: Key) -> list[Any]:
        return [event for lines in self.runs[key].commits for event in codec.decode_events(*lines)]


class Transaction:
    """What one batch would change."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.commits: list[tuple[Commit, tuple[bytes, bytes | None], bytes]] = []
        self.versions: dict[Key, int] = {}
        self.heads: dict[Key, bytes] = {}
        self.receipts: dict[Position, Receipt] = {}

    def append(self, commit: Commit, events: tuple[bytes, bytes | None], snapshot: bytes) -> bytes:
        """Note a commit and return its head, or raise ReceiptTaken or VersionConflict."""
        key, receipt = (commit.run.company_id, commit.run.id), commit.receipt
        place = None if receipt is None else (receipt.company_id, receipt.path, receipt.key)
        if place is not None and (place in self.receipts or place in self.disk.receipts):
            raise ReceiptTaken("The idempotency key is already used.")
        kept = self.disk.runs.get(key, NEW)
        version, head = self.versions.get(key, kept.version), self.heads.get(key, kept.head)
        if version != commit.expected_version and self.disk.checks_versions:
            raise VersionConflict("The run has moved on since it was loaded.")
        if head != commit.follows and self.disk.checks_heads:
            raise VersionConflict("The history of the run is another one.")
        if place is not None and receipt is not None:
            self.receipts[place] = receipt
        self.versions[key] = commit.run.version
        self.heads[key] = sha256(commit.follows + events[0]).digest()
        self.commits.append((commit, events, snapshot))
        return self.heads[key]

    def keep(self) -> None:
        """Make it durable, all at once."""
        for commit, events, snapshot in self.commits:
            run, receipt = commit.run, commit.receipt
            key = (run.company_id, run.id)
            was = replace(self.disk.runs.get(key, NEW), before=None)
            self.disk.runs[key] = Kept(
                version=run.version,
                head=self.heads[key],
                resting=commit.resting,
                snapshot=snapshot,
                wake_at=run.wake_at,
                reviewed=run.reviewed,
                commits=[*was.commits, events],
                readers=rows_after(was.readers, commit.reading),
                receipt=None if receipt is None else (receipt.company_id, receipt.path, receipt.key),
                before=was,
            )
        self.disk.receipts.update(self.receipts)


class SimEngine:
    """Commits batches to the disk, as slowly and as badly as the seed says."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def apply(self, works: Sequence[Work]) -> Sequence[tuple[Any, Exception | None]]:
        world = self._process.world
        await world.pause(world.write_s())
        fault = world.store_fault()
        if fault == "not_applied":
            world.note(f"{self._process.name} store: not applied")
            raise StoreFailed("The disk is full.", "not_applied")
        await self._process.may_die("between write and sync")
        if fault == "lost":
            world.note(f"{self._process.name} store: unknown, and lost")
            raise StoreFailed("The disk has gone.", "unknown")
        await world.pause(world.write_s())
        # In one breath, so that of two processes one comes after the other, as with the lock of a
        # database.
        transaction = Transaction(world.disk)
        settled = [_settled(work, transaction) for work in works]
        transaction.keep()
        for commit, _, _ in transaction.commits:
            world.witness.durable(commit)
        await self._process.may_die("between sync and answer")
        if fault == "kept":
            world.note(f"{self._process.name} store: unknown, and kept")
            raise StoreFailed("The disk has gone.", "unknown")
        await world.pause(world.write_s())
        return settled

    async def after_batch(self) -> None:
        """There is nothing to tidy up."""


def _settled(work: Work, transaction: Transaction) -> tuple[Any, Exception | None]:
    try:
        return work(transaction), None
    except (ReceiptTaken, VersionConflict) as refusal:
        return None, refusal


class SimStore:
    """The journal of one process, over the service's own group commit; it notices when two actors
    share a run.
    """

    shared = False

    def __init__(self, process: Process, batch_max: int) -> None:
        self._process = process
        self._busy: set[Key] = set()
        self.writer: Writer[Work] = Writer(SimEngine(process), batch_max=batch_max, on_failed=process.store_failed)

    async def append(self, commit: Commit) -> bytes:
        """Make a commit durable and return its head, or raise VersionConflict, ReceiptTaken or
        StoreFailed.
        """
        key = (commit.run.company_id, commit.run.id)
        events, snapshot = codec.encode_events(commit.events), codec.encode_run(commit.run)
        self._enter(key)
        try:
            head = await self.writer.submit(lambda transaction: transaction.append(commit, events, snapshot))
        finally:
            self._busy.discard(key)
        return bytes(head)

    async def load_committed(self, company_id: str, run_id: str) -> CommittedRun | None:
        """The run as committed and its head; None when the company has no such run."""
        key, world = (company_id, run_id), self._process.world
        self._enter(key)
        try:
            await world.pause(LOAD_S)
            await self._process.may_die("in a load", LOAD_WEIGHT)
            if world.load_fails():
                world.note(f"{self._process.name} store: {run_id} not read")
                raise StoreFailed("The disk could not be read.", "not_applied")
            run, head = world.disk.run(key), world.disk.runs.get(key, NEW).head
            await world.pause(LOAD_S)
        finally:
            self._busy.discard(key)
        world.witness.loaded(key, run)
        return None if run is None else CommittedRun(run, head)

    async def claim(self) -> Sequence[Key]:
        """Every run that is not at rest: one process is all there is."""
        await self._process.world.pause(LOAD_S)
        return sorted(key for key, kept in self._process.world.disk.runs.items() if not kept.resting)

    async def due(self, by: datetime, limit: int) -> Sequence[DueRun]:
        """Runs of which something is due by then, the earliest first."""
        await self._read("what is due")
        kept = self._process.world.disk.runs.items()
        found = [DueRun(*key, one.wake_at) for key, one in kept if one.wake_at is not None and one.wake_at <= by]
        return sorted(found, key=lambda one: (one.wake_at, one))[:limit]

    async def reviewed(self, company_id: str | None, after: Key, limit: int) -> Sequence[Key]:
        """Runs for which the people of a company matter, or of all companies."""
        await self._read("who decides")
        kept = self._process.world.disk.runs.items()
        found = sorted(key for key, one in kept if one.reviewed and company_id in (None, key[0]) and key > after)
        return found[:limit]

    async def _read(self, what: str) -> None:
        world = self._process.world
        await world.pause(LOAD_S)
        if world.load_fails():
            world.note(f"{self._process.name} store: {what} not read")
            raise StoreFailed("The disk could not be read.", "not_applied")

    def _enter(self, key: Key) -> None:
        if key in self._busy:
            self._process.world.witness.broke(f"{key[1]} has two live actors in {self._process.name}")
        self._busy.add(key)


class Shelf(MemoryRepositories):
    """The connectors of all companies, a moment away and not always to be read."""

    def __init__(self, world: World) -> None:
        super().__init__(world.now)
        self._world = world

    async def connectors_of(self, company_id: str) -> Sequence[StoredConnector]:
        """A company's connectors by tool-id, in order."""
        await self._world.pause(LOAD_S)
        if self._world.load_fails():
            self._world.note(f"shelf: {company_id} not read")
            raise StoreFailed("The disk could not be read.", "not_applied")
        found: Sequence[StoredConnector] = await super().connectors_of(company_id)
        await self._world.pause(LOAD_S)
        return found

    async def put_connector(
        self, stored: StoredConnector, change: StoredConnectorChange, decision: ChangeDecision | None = None
    ) -> None:
        """Keep a connector in place of any earlier one, and its change; StoreFailed when the number
        is taken.
        """
        await self._world.pause(WRITE_S)
        await super().put_connector(stored, change, decision)
        await self._world.pause(WRITE_S)


async def never() -> None:
    """Wait for what does not come."""
    await asyncio.get_running_loop().create_future()

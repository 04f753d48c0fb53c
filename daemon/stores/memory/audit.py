"""Streams, trees and checkpoints in memory, by the same functions as the durable ones."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from daemon.model import merkle
from daemon.model.audit_events import Logged
from daemon.model.chain import HistoryBroken, Walk, extended, genesis
from daemon.model.evidence import SEAL_MAX, Checkpoint, Entry, Growing, Proven, Sign, leaf
from daemon.stores import codec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daemon.model import Following
    from daemon.model.audit_events import LogEvent

Key = tuple[str, str]


class MemoryLedger:
    """The commits of all streams in their order, and what makes a later change of them visible."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._streams: dict[Key, list[Entry]] = {}
        self._order: list[Key] = []
        self._placed: dict[str, list[tuple[int, bytes | None, Entry]]] = {}
        self._unsealed: list[Key] = []
        self._leaves: dict[str, list[Entry]] = {}
        self._nodes: dict[str, dict[tuple[int, int], bytes]] = {}
        self._checkpoints: dict[str, list[Checkpoint]] = {}

    def add(self, key: Key, first_seq: int, events: bytes, exact: bytes | None = None) -> None:
        """Add a commit to a stream; HistoryBroken unless it goes on from the one before."""
        stream = self._streams.setdefault(key, [])
        version, head = (stream[-1].version, stream[-1].head) if stream else (0, genesis(*key))
        if first_seq != version + 1:
            raise HistoryBroken(key[1], first_seq - 1, "the commit before is missing")
        lines = events.split(b"\n")
        head = extended(head, lines)
        stream.append(Entry(-1, key[1], version + len(lines), first_seq, head, events, exact))
        self._order.append(key)
        self._unsealed.append(key)
        if key[0] != key[1]:
            before = stream[-2].head if len(stream) > 1 else None
            self._placed.setdefault(key[0], []).append((len(self._order), before, stream[-1]))

    def committed(self, company_id: str, position: int) -> Sequence[tuple[int, bytes | None, Entry]]:
        """The commits of a company's runs from a position on, each with its position and the head before it."""
        placed = self._placed.get(company_id, [])
        return placed[bisect_left(placed, position, key=lambda one: one[0]) :]

    def read(self, key: Key) -> Iterator[Entry]:
        """The commits of a stream, their chain checked."""
        walk = Walk(key[1], genesis(*key))
        for one in self._streams.get(key, []):
            walk.take(one.first_seq, one.version, one.head, one.events)
            yield one

    async def log(self, logged: Logged) -> None:
        """Add an event to a company's own log."""
        key = (logged.company_id, logged.company_id)
        self.add(key, len(self._streams.get(key, [])) + 1, codec.encode_log(logged.event))

    async def last_logged(self, company_id: str, holding: str) -> LogEvent | None:
        """The latest event of a company's own log whose JSON holds this text."""
        for entry in reversed(self._streams.get((company_id, company_id), [])):
            if holding.encode() in entry.events:
                return codec.decode_log(entry.events)[-1]
        return None

    async def log_after(self, company_id: str, holding: str, following: Following) -> None:
        """Add to a company's own log what follows on its latest event that holds this text."""
        event = following(await self.last_logged(company_id, holding), accompanied=False)
        if event is not None:
            await self.log(Logged(company_id, event))

    async def unsealed(self) -> int:
        """How many commits no checkpoint covers yet."""
        return len(self._unsealed)

    async def seal(self, sign: Sign, only: str | None = None) -> int:
        """Give the next commits, of all or of one company, their leaves and a checkpoint; returns how many."""
        due = [key for key in self._unsealed if only in (None, key[0])][:SEAL_MAX]
        trees: dict[str, Growing] = {}
        for key in due:
            company_id, stream = key
            tree = trees.get(company_id) or trees.setdefault(company_id, self._growing(company_id))
            leaves = self._leaves.setdefault(company_id, [])
            known = sum(one.stream == stream for one in leaves)
            entry = self._streams[key][known]
            self._unsealed.remove(key)
            leaves.append(replace(entry, number=tree.append(leaf(stream, entry.version, entry.head))))
        for company_id, tree in trees.items():
            self._nodes[company_id].update(tree.made)
            self._checkpoints.setdefault(company_id, []).append(tree.checkpoint(sign))
        return len(due)

    async def checkpoints(self, company_id: str, before: int | None, limit: int) -> Sequence[Checkpoint]:
        """At most `limit` checkpoints of a company, newest first, those of a size below `before`."""
        found = [one for one in self._checkpoints.get(company_id, []) if before is None or one.size < before]
        return found[::-1][:limit]

    async def proven(self, company_id: str, run_id: str, after: int = 0, limit: int | None = None) -> Proven | None:
        """At most `limit` commits of a run with events behind `after`; None while no checkpoint covers its last."""
        commits = self._streams.get((company_id, run_id), [])
        leaves = [one.number for one in self._leaves.get(company_id, []) if one.stream == run_id]
        if not commits or len(leaves) < len(commits):
            return None
        top = self._checkpoints[company_id][-1]
        proof = merkle.inclusion(leaves[-1], top.size, self._growing(company_id).node)
        passed = [one for one in commits if one.version <= after]
        before = passed[-1].head if passed else genesis(company_id, run_id)
        found = commits[len(passed) :][:limit]
        return Proven(found, before, replace(commits[-1], number=leaves[-1]), proof, top)

    async def entries(self, company_id: str, first: int, end: int) -> Sequence[Entry]:
        """The commits under the leaves from a number up to another, which is not among them."""
        return self._leaves.get(company_id, [])[first:end]

    async def logged(self, company_id: str, before: int | None, limit: int) -> Sequence[Entry]:
        """At most `limit` commits of a company's own log, newest first, those that begin before an event."""
        stream = self._streams.get((company_id, company_id), [])
        return [one for one in reversed(stream) if before is None or one.first_seq < before][:limit]

    def _growing(self, company_id: str) -> Growing:
        nodes = self._nodes.setdefault(company_id, {})
        last = self._checkpoints.get(company_id, [])[-1:]
        previous = last[0].root if last else None
        return Growing(company_id, len(self._leaves.get(company_id, [])), previous, lambda *place: nodes[place])

"""Reads that race with the end of somebody's right to read: none that began after the change was
answered says anything of a closed run, whichever daemon it was sent to.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from tests.cluster.streams import Stream, bearer
from tests.cluster.throughput import serving
from tests.crash.provoke import registered
from tests.crash.wire import Answer, Wire
from tests.load.pump import wire
from tests.postgres import Server
from tests.web.closed import KEY, SECRET, document

READS = (
    "/process-runs/{run}",
    "/process-runs/{run}/gates/signoff",
    "/process-runs/{run}/events",
    "/process-runs/{run}/audit",
    "/process-runs/",
    "/process-runs/?format=csv",
    f"/process-runs/?q={SECRET}",
    f"/process-runs/?business_key={KEY}",
    "/gates/",
    "/gates/?format=csv",
    "/gates/count",
    "/events/?after=0",
    "/reports/open-gates/",
)
"""Ways to find a run."""
COUNTED, CSV = "/gates/count", "format=csv"
DURING, STREAMED = 3, 25
"""Reads under way while a right ends, and of how many rounds one is followed by a stream."""
ROUNDS_OF_RUN = 50
STREAM_S = 20.0
SINCE = (datetime.now(UTC) - timedelta(days=1)).isoformat()
UNTIL = (datetime.now(UTC) + timedelta(days=30)).isoformat()


@dataclass
class Shown:
    """What came of the changes of one kind."""

    daemons: int
    change: str
    changes: int = 0
    late: int = 0
    wrong: list[str] = field(default_factory=list)
    during: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    streams: int = 0
    took_s: float = 0.0

    @property
    def unseen(self) -> list[str]:
        """The ways by which the run was never found by who might: they prove nothing."""
        return [one for one in READS if not self.seen[one]]

    @property
    def sound(self) -> bool:
        return bool(self.late) and not self.wrong and (self.changes < len(READS) or not self.unseen)

    def __str__(self) -> str:
        return (
            f"{self.daemons} x {self.change:<18}{self.changes:>6,} changes in {self.took_s:,.0f} s, "
            f"{self.during.total():,} reads during them; {self.late:,} began after the answer, {len(self.wrong)} told "
            f"of the run {self.wrong[:3] or ''}; never seen: {self.unseen}; {self.streams} streams"
        )


class Room(ABC):
    """A company with a run that one member may read, until they may no more."""

    change = ""
    template: ClassVar[dict[str, Any]] = {}
    role = "viewer"

    def __init__(self, ports: Sequence[int], *, planted: bool = False) -> None:
        self.shown = Shown(len(ports), self.change)
        self._ports, self._planted = ports, planted
        self._run = ""
        self._runs: list[bytes] = []
        self._nth = count()

    async def play(self, changes: int) -> Shown:
        """So many times a right ends among reads, and comes back."""
        began = time.perf_counter()
        await self._furnish()
        for number in range(changes):
            if number % ROUNDS_OF_RUN == 0:
                await self._start()
            during = [asyncio.create_task(self._read()) for _ in range(DURING)]
            stream = await self._stream(number) if number % STREAMED == STREAMED // 2 else None
            await self.take()
            late = await asyncio.gather(
                *(self._read(port, self._planted) for port in range(len(self._ports)) for _ in "ab")
            )
            self.shown.changes += 1
            self.shown.late += len(late)
            self.shown.wrong += [way for way, told in late if told]
            if stream is not None:
                await self._say("POST", f"/process-runs/{self._run}/messages", {"name": "letter", "payload": SECRET})
            self.shown.during.update(way for way, _ in await asyncio.gather(*during))
            if stream is not None:
                await self._followed(stream)
            await self.give()
            way, told = await self._read(number % len(self._ports))
            self.shown.seen[way] += told
        self.shown.took_s = time.perf_counter() - began
        return self.shown

    async def furnish(self) -> None:  # noqa: B027 - most have no need of it
        """Make the member a reader."""

    @abstractmethod
    async def take(self) -> None:
        """End the right; done when that is answered."""

    @abstractmethod
    async def give(self) -> None:
        """Give it back."""

    async def _furnish(self) -> None:
        owner = await registered(self._ports[0], f"owner-{uuid4()}@example.test")
        self._owner = owner
        self._owners = [Wire(port, owner) for port in self._ports]
        self.company = f"/companies/{(await self._say('GET', '/auth/me'))['company']['id']}"
        self.email, self.member, self._token = await self._joined(self.role)
        await self.publish()
        await self.furnish()

    async def publish(self, **more: Any) -> None:
        await self._say(
            "PUT", "/process-templates/suspicion/draft", document(**{"subjects": [], **self.template, **more})
        )
        await self._say("POST", "/process-templates/suspicion/publish")

    async def group(self, name: str, *members: str) -> None:
        await self._say("PUT", f"{self.company}/groups/{name}", {"members": members})

    async def _joined(self, role: str) -> tuple[str, str, str]:
        """Somebody new: address, membership, token."""
        email = f"m-{uuid4()}@example.test"
        made = await self._say("POST", f"{self.company}/members", {"email": email, "role": role})
        joining = {"email": email, "password": "correct horse", "invitation": made["invitation"]["token"]}
        token = (await self._say("POST", "/auth/register", joining))["token"]
        return email, made["id"], token

    async def _start(self) -> None:
        """A new run in place of the one before, whose history is long by now."""
        if self._runs:
            await self._say("POST", f"/process-runs/{self._run}/cancel", {"reason": "next"})
        inputs = {"story": SECRET, "about": self.email}
        said = {"vertical": "suspicion", "inputs": inputs, "business_key": KEY, "version": 1}
        self._run = (await self._say("POST", "/process-runs/", said))["id"]
        self._runs.append(self._run.encode())

    async def _read(self, port: int | None = None, planted: bool = False) -> tuple[str, bool]:
        """The next way to find the run, and whether it was told of."""
        nth = next(self._nth)
        way, port = READS[nth % len(READS)], nth % len(self._ports) if port is None else port
        token, address = self._owner if planted else self._token, way.format(run=self._run)
        if CSV in way:
            return way, self._tells(await self._csv(self._ports[port], address, token))
        channel = Wire(self._ports[port], token)
        try:
            answer = await channel.ask("GET", address)
        finally:
            channel.close()
        assert answer.status in (200, 404), (way, answer)
        if way == COUNTED:
            return way, answer.json["open"] > self.shown.streams
        return way, self._tells(answer.body.replace(address.encode(), b""))  # a problem names what was asked for

    def _tells(self, body: bytes) -> bool:
        return SECRET.encode() in body or any(one in body for one in self._runs)

    async def _csv(self, port: int, address: str, token: str) -> bytes:
        """A list as CSV, which comes in chunks."""
        stream = await self._opened(port, wire("GET", address, headers=bearer(token)))
        async with asyncio.timeout(STREAM_S):
            await stream.ended
        stream.transport.abort()
        return bytes(stream.told)

    async def _stream(self, number: int) -> Stream:
        """The company's events, as the member is told them by one of the daemons."""
        headers = {**bearer(self._token), "Accept": "text/event-stream"}
        stream = await self._opened(self._ports[number % len(self._ports)], wire("GET", "/events", headers=headers))
        stream.told.clear()
        return stream

    async def _opened(self, port: int, request: bytes) -> Stream:
        _, stream = await asyncio.get_running_loop().create_connection(Stream, "127.0.0.1", port)
        stream.transport.write(request)
        await stream.begun
        return stream

    async def _followed(self, stream: Stream) -> None:
        """What was told behind the change, up to something that everybody may read."""
        self.shown.streams += 1
        opened = (await self._say("POST", "/process-runs/", {"vertical": "held"}))["id"].encode()
        with suppress(TimeoutError):
            async with asyncio.timeout(STREAM_S):
                while opened not in stream.told and not stream.ended.done():
                    stream.grew.clear()
                    await stream.grew.wait()
        stream.transport.abort()
        if b'"letter"' in stream.told or (opened not in stream.told and not stream.ended.done()):
            self.shown.wrong.append("/events")

    async def _say(self, method: str, path: str, body: Any = None) -> Any:
        """What the owner is answered, by the first daemon."""
        answer = await self._owners[0].ask(method, path, body)
        return _right(answer, path)


def _right(answer: Answer, path: str) -> Any:
    assert answer.status in (200, 201, 202, 204), (path, answer)
    return answer.json if answer.body else None


class Demoted(Room):
    change = "demoted"
    role = "admin"
    template: ClassVar = {"readers": {"role": "admin"}}

    async def take(self) -> None:
        await self._become("member")

    async def give(self) -> None:
        await self._become("admin")

    async def _become(self, role: str) -> None:
        await self._say("PATCH", f"{self.company}/members/{self.member}", {"role": role})


class OutOfTheGroup(Room):
    change = "out of the group"
    template: ClassVar = {"readers": {"groups": ["auditors"], "role": "owner"}}

    async def furnish(self) -> None:
        await self.give()

    async def take(self) -> None:
        await self.group("auditors")

    async def give(self) -> None:
        await self.group("auditors", self.member)


class Unbound(Room):
    change = "function unbound"
    template: ClassVar = {
        "functions": {"chief": {"label": "Chief", "role": "owner"}},
        "readers": {"functions": ["chief"]},
    }

    async def furnish(self) -> None:
        await self.give()

    async def take(self) -> None:
        await self._bind()

    async def give(self) -> None:
        await self._bind(self.member)

    async def _bind(self, *members: str) -> None:
        bound = {
            "groups": [],
            "members": [*members, *((await self._say("GET", "/auth/me"))["member_id"],) * bool(members)],
        }
        await self._say("PUT", f"{self.company}/functions", {"chief": bound})


class Narrowed(Room):
    change = "narrowed"
    template: ClassVar = {"readers": None}

    async def take(self) -> None:
        await self._narrow({"suspicion": {"role": "owner"}})

    async def give(self) -> None:
        await self._narrow({})

    async def _narrow(self, readers: Any) -> None:
        await self._say("PUT", f"{self.company}/policy", {"readers": readers})


class Undelegated(Room):
    change = "delegation ended"
    template: ClassVar = {"readers": {"role": "owner"}}

    async def furnish(self) -> None:
        _, giver, token = await self._joined("manager")
        self._giver = Wire(self._ports[0], token)
        await self.group("officers", giver)
        await self.give()

    async def take(self) -> None:
        _right(await self._giver.ask("DELETE", f"/delegations/{self._given}"), "/delegations")

    async def give(self) -> None:
        said = {"to": self.member, "from": SINCE, "until": UNTIL}
        self._given = _right(await self._giver.ask("POST", "/delegations", said), "/delegations")["id"]


class Named(Room):
    """The run goes on by a version that has it be about the member, and back again."""

    change = "named as subject"
    template: ClassVar = {"readers": None}

    async def furnish(self) -> None:
        await self.publish(subjects=["inputs.about"])

    async def take(self) -> None:
        await self._migrate(2)

    async def give(self) -> None:
        await self._migrate(1)

    async def _start(self) -> None:
        if self._runs:  # the one before stays about the member
            await self.take()
        await super()._start()

    async def _migrate(self, version: int) -> None:
        await self._say("POST", f"/process-runs/{self._run}/migrate", {"version": version})


KINDS: tuple[type[Room], ...] = (Demoted, OutOfTheGroup, Unbound, Narrowed, Undelegated, Named)


async def rooms(folder: Path, database: Server, changes: int, counts: Sequence[int] = (1, 3)) -> list[Shown]:
    """So many changes of who reads, on one daemon on SQLite and on three on PostgreSQL."""
    found: list[Shown] = []
    each = -(-changes // len(counts) // len(KINDS))
    for number in counts:
        url = await database.made() if number > 1 else None
        async with serving(folder, number, url) as daemons:
            ports = [port for port, _ in daemons]
            assert not (await OutOfTheGroup(ports, planted=True).play(1)).sound
            shown = await asyncio.gather(*(kind(ports).play(each) for kind in KINDS))
            print(*shown, sep="\n", flush=True)
            found += shown
    return found

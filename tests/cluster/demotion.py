"""`make demotion`: requests that race with the end of a right, on one daemon and on three.

None that began after the change was answered may succeed, whichever daemon it was sent to; nor may
a read of a run whose reader somebody is no more tell anything of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvloop

from tests.attack.wire import ask
from tests.cluster.daemons import make_keys
from tests.cluster.readers import rooms
from tests.cluster.streams import Stream, bearer
from tests.cluster.throughput import serving
from tests.crash.provoke import registered
from tests.crash.service import write_templates
from tests.load.pump import Hit, Shot, fire, wire
from tests.postgres import Server, server

ENDS = {"demoted": 403, "removed": 401, "key deleted": 401}
"""How a right ends, and what each later request is answered."""
CONNECTIONS = 48
STREAMS = 4
HELD_SHARE = 10
PLANTED = 200
HELD_UP = 40
HEAD_START_S = 0.2
LONGEST_S = 120.0
STREAM_ENDS_S = 20.0
START = json.dumps({"vertical": "held"}).encode()


@dataclass
class Raced:
    """What came of one race."""

    daemons: int
    end: str
    ended: float = float("inf")
    hits: list[tuple[float, Hit]] = field(default_factory=list)
    streams: int = 0
    leaked: int = 0
    open: int = 0

    @property
    def early(self) -> list[Hit]:
        """The requests that had begun when the change was answered."""
        return [hit for began, hit in self.hits if began < self.ended]

    @property
    def late(self) -> list[Hit]:
        return [hit for began, hit in self.hits if began >= self.ended]

    @property
    def wrong(self) -> int:
        """Those that began after the answer and were not refused as they have to be."""
        return sum(hit.status != ENDS[self.end] for hit in self.late)

    @property
    def sound(self) -> bool:
        done = sum(hit.status in (200, 201) for hit in self.early)
        return bool(done and self.late) and not (self.wrong or self.leaked or self.open)

    def __str__(self) -> str:
        done = sum(hit.status in (200, 201) for hit in self.early)
        streams = (
            f"{self.streams} streams: {self.leaked} events after it, {self.open} still open" if self.streams else ""
        )
        return (
            f"{self.daemons} x {self.end:<12}{len(self.hits):>7,} requests, {done:,} done before; "
            f"{len(self.late):,} began after the answer, {self.wrong} not refused. {streams}"
        )


@dataclass(frozen=True)
class Caller:
    """A person or machine whose right ends, and what its owner sends for that."""

    token: str
    ending: bytes


class Race:
    """Requests of one caller to all daemons, and the end of the caller's right among them.

    With a `planted` fault the requests are of somebody else, whose right does not end.
    """

    def __init__(self, ports: Sequence[int], end: str, requests: int, *, planted: bool = False) -> None:
        self._planted = planted
        self._ports, self._requests = ports, requests
        self._after_end: asyncio.Task[None] | None = None
        self.found = Raced(len(ports), end)

    async def run(self) -> Raced:
        self._owner = await registered(self._ports[0], f"owner-{uuid4()}@example.test")
        caller = await self._caller()
        held = await self._started(self._requests // HELD_SHARE)
        machine, reads = self.found.end == "key deleted", self.found.end != "demoted"
        orders = self._orders(caller, iter([] if machine else held))
        async with self._streaming(caller.token if reads else "") as streams:
            each = CONNECTIONS // len(self._ports)
            volleys = await asyncio.gather(*(fire(port, orders, each) for port in self._ports))
            assert self._after_end is not None
            await self._after_end
            self.found.hits = [(hit.tag, hit) for volley in volleys for hit in volley.hits]
            if streams:
                await self._look_at(streams)
        return self.found

    async def run_beside(self, stopped: int) -> Raced:
        """The right ends while the last daemon stands still; what that one is asked then, it
        answers when it goes on.
        """
        self._owner = await registered(self._ports[0], f"owner-{uuid4()}@example.test")
        caller = await self._caller()
        start = wire("POST", "/process-runs/", START, bearer(caller.token))
        before = await self._starts(start, 1)
        os.kill(stopped, signal.SIGSTOP)
        try:
            await self._end(caller)
            after = asyncio.ensure_future(self._starts(start, self._requests))
            await asyncio.sleep(HEAD_START_S)
        finally:
            os.kill(stopped, signal.SIGCONT)
        self.found.hits = [*before, *await after]
        return self.found

    async def _starts(self, start: bytes, wanted: int) -> list[tuple[float, Hit]]:
        """Starts at the last daemon, with when each began."""
        volley = await fire(self._ports[-1], (Shot(time.perf_counter(), start) for _ in range(wanted)), CONNECTIONS)
        return [(hit.tag, hit) for hit in volley.hits]

    def _orders(self, caller: Caller, held: Iterator[str]) -> Iterator[Shot]:
        """Verdicts on runs that wait, as long as there are any, among starts; tagged with when.

        As many as were asked for, and until a third of that began after the end.
        """
        after, deadline = 0, time.perf_counter() + LONGEST_S
        sender = bearer(self._owner if self._planted else caller.token)
        for number in count():
            at = time.perf_counter()
            after += at >= self.found.ended
            enough = number >= self._requests and after >= self._requests // 3
            if enough or at >= deadline:
                return
            if number == self._requests // 3:
                self._after_end = asyncio.get_running_loop().create_task(self._end(caller))
            run_id = next(held, None) if number % 3 == 0 else None
            if run_id is None:
                order = wire("POST", "/process-runs/", START, sender)
            else:
                verdict = json.dumps({"gate": "signoff", "decision": "approved"}).encode()
                order = wire("POST", f"/process-runs/{run_id}/resume", verdict, sender)
            yield Shot(at, order)

    async def _end(self, caller: Caller) -> None:
        answer = await ask(self._ports[0], caller.ending)
        self.found.ended = time.perf_counter()
        assert answer is not None
        assert answer.status in (200, 204), answer.body

    async def _caller(self) -> Caller:
        """Somebody who may start and decide, or a machine that may start."""
        me = await self._say("GET", "/auth/me")
        people = f"/companies/{me['company']['id']}/members"
        if self.found.end == "key deleted":
            made = await self._say("POST", "/api-keys/", {"name": "racer", "kind": "service", "role": "member"})
            return Caller(made["key"], wire("DELETE", f"/api-keys/{made['id']}", headers=bearer(self._owner)))
        email = f"bob-{uuid4()}@example.test"
        made = await self._say("POST", people, {"email": email, "role": "manager"})
        joining = {"email": email, "password": "correct horse", "invitation": made["invitation"]["token"]}
        token = (await self._say("POST", "/auth/register", joining))["token"]
        path = f"{people}/{made['id']}"
        if self.found.end == "removed":
            return Caller(token, wire("DELETE", path, headers=bearer(self._owner)))
        return Caller(token, wire("PATCH", path, json.dumps({"role": "viewer"}).encode(), bearer(self._owner)))

    async def _started(self, wanted: int) -> list[str]:
        request = wire("POST", "/process-runs/", START, bearer(self._owner))
        volley = await fire(self._ports[0], (Shot(None, request) for _ in range(wanted)), CONNECTIONS)
        return [json.loads(hit.body)["id"] for hit in volley.hits if hit.status == 201]

    async def _look_at(self, streams: list[Stream]) -> None:
        """What the owner does after the end is told to nobody whose right to read has ended."""
        runs = await self._started(2 * len(self._ports))
        deadline = asyncio.get_running_loop().time() + STREAM_ENDS_S
        for stream in streams:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await stream.ended
        told = b"".join(bytes(stream.told) for stream in streams)
        self.found.streams = len(streams)
        self.found.leaked = sum(run_id.encode() in told for run_id in runs)
        self.found.open = sum(not stream.ended.done() for stream in streams)

    @asynccontextmanager
    async def _streaming(self, token: str) -> AsyncIterator[list[Stream]]:
        """The caller follows all runs of the company on each daemon, if there is a token."""
        streams = []
        for port, _ in zip(cycle(self._ports), range(STREAMS * len(self._ports) if token else 0), strict=False):
            _, stream = await asyncio.get_running_loop().create_connection(Stream, "127.0.0.1", port)
            headers = {**bearer(token), "Accept": "text/event-stream"}
            stream.transport.write(wire("GET", "/events", headers=headers))
            await stream.begun
            streams.append(stream)
        try:
            yield streams
        finally:
            for stream in streams:
                stream.transport.abort()

    async def _say(self, method: str, path: str, body: Any = None) -> Any:
        """What the owner is answered."""
        data = b"" if body is None else json.dumps(body).encode()
        answer = await ask(self._ports[0], wire(method, path, data, bearer(self._owner)))
        assert answer is not None
        assert answer.status in (200, 201), answer.body
        return answer.json


def prepare(folder: Path) -> None:
    """Make the keys and templates that the daemons share."""
    make_keys(folder)
    write_templates(folder / "templates")


async def races(
    folder: Path, database: Server, requests: int, counts: Sequence[int] = (1, 3), ends: Sequence[str] = tuple(ENDS)
) -> list[Raced]:
    """These ways for a right to end, on one daemon on SQLite and on three on PostgreSQL."""
    found = []
    for number in counts:
        url = await database.made() if number > 1 else None
        async with serving(folder, number, url) as daemons:
            ports = [port for port, _ in daemons]
            assert not (await Race(ports, "demoted", PLANTED, planted=True).run()).sound
            for end in ends:
                found.append(await Race(ports, end, requests).run())
                print(found[-1], flush=True)
            for end in ends if number > 1 else ():
                found.append(await Race(ports, end, HELD_UP).run_beside(daemons[-1][1]))
                print(f"{found[-1]}One daemon stood still meanwhile.", flush=True)
    return found


def main() -> int:
    """Print what came of each race; 1 when a right counted after its end."""
    parser = argparse.ArgumentParser(prog="make demotion", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--changes", type=int, default=10_000, help="of who reads, over all kinds and daemons")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-demotion-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with (
            server(parent=folder) as database,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            prepare(folder)
            found = runner.run(races(folder, database, arguments.requests)) if arguments.requests else []
            shown = runner.run(rooms(folder, database, arguments.changes)) if arguments.changes else []
    return 0 if all([one.sound for one in found] + [one.sound for one in shown]) else 1


if __name__ == "__main__":
    sys.exit(main())

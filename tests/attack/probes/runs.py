"""Large runs: lists that nobody reads, runs in bad shapes, and inputs that break a schema."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar

from daemon.runtime.json_codec import CONTAINERS_MAX
from tests.attack.probes.world import INPUTS, Probe, World
from tests.attack.report import Report
from tests.load.pump import wire

RUNS, RUN_CHARS = 40, 1_000_000
READERS = 12
ENDED, LEFT_BY_OTHER = 7, 8
LOOK_S = 0.2
BETWEEN_S = 0.5
ROOM = 1_048_576 - 200


class Lists(Probe):
    """Forty runs of a megabyte, and a dozen lists of them that are asked for and not read."""

    name = "large-lists"

    def __init__(self, runs: int = RUNS, readers: int = READERS) -> None:
        super().__init__()
        self._runs = runs
        self._readers = readers

    async def prepare(self, world: World) -> None:
        self._token = await world.company("lists")
        for _ in range(self._runs):
            answer = await world.start(self._token, {**INPUTS, "diagnosis": "x" * RUN_CHARS})
            assert answer is not None
            assert answer.status == 201, answer.body[:300]

    async def attack(self, world: World) -> None:
        paths = ("/process-runs/?limit=200", "/process-runs/?limit=50", "/events?limit=200")
        tasks = [self._unread(world.target.port, paths[number % 3]) for number in range(self._readers)]
        await asyncio.gather(*tasks, self._read(world))

    async def _read(self, world: World) -> None:
        while True:
            self.tally.note(await world.call("GET", "/process-runs/?limit=200", token=self._token))
            await asyncio.sleep(BETWEEN_S)

    async def _unread(self, port: int, path: str) -> None:
        """Ask again and again, and read next to nothing."""
        request = wire("GET", path, headers={"Authorization": f"Bearer {self._token}"})
        while True:
            with socket.socket() as one, suppress(ConnectionError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                one.setblocking(False)
                await asyncio.get_running_loop().sock_connect(one, ("127.0.0.1", port))
                await asyncio.get_running_loop().sock_sendall(one, request)
                while one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] not in {ENDED, LEFT_BY_OTHER}:  # noqa: ASYNC110 - no event tells
                    await asyncio.sleep(LOOK_S)
            await asyncio.sleep(LOOK_S)


@cache
def inputs(size: int = ROOM) -> tuple[bytes, ...]:
    """Inputs of about so many bytes, each of another shape."""
    tail = json.dumps(INPUTS).encode()[1:]
    deep = b"[" * 60 + b"0" + b"]" * 60 + b","
    units = (b"0,", b"1.5,", b'"",', b'{"a":0},', deep, b'"\xc3\xa9\xf0\x9f\x90\x99",', b'"\\"\\\\",')
    listed = [b'{"x":[' + _most(unit, size - 120) + b"0]," + tail for unit in units]
    names = b",".join(b'"%06x":0' % number for number in range(size // 12))
    return (*listed, b"{" + names + b"," + tail, b'{"x":"' + b"\xc3\xa9" * (size // 2 - 99) + b'",' + tail)


def _most(unit: bytes, room: int) -> bytes:
    """A unit as often as there is room and as a body may have lists; numbers in what is left."""
    often = min(room // len(unit), (CONTAINERS_MAX - 10) // max(1, unit.count(b"[") + unit.count(b"{")))
    return unit * often + b"0," * ((room - often * len(unit)) // 2)


class LargeRuns(Probe):
    """Runs with inputs of 1 MiB: started, read, listed, and decided on."""

    name = "large-runs"

    def __init__(self, size: int = ROOM, between_s: float = BETWEEN_S) -> None:
        super().__init__()
        self._size = size
        self._between_s = between_s
        self.done = 0

    async def prepare(self, world: World) -> None:
        self._token = await world.company("large")

    async def attack(self, world: World) -> None:
        while True:
            for one in inputs(self._size):
                await self._lived(world, one)
                await asyncio.sleep(self._between_s)

    async def _lived(self, world: World, given: bytes) -> None:
        body = b'{"vertical":"prior-auth","inputs":' + given + b"}"
        answer = self.tally.note(await world.call("POST", "/process-runs/", body, self._token))
        if answer is None or answer.status not in {201, 202}:
            return
        run_id = answer.json["id"]
        run = await world.rested(self._token, run_id)
        for path in ("", "/events?limit=200", "/audit"):
            self.tally.note(await world.call("GET", f"/process-runs/{run_id}{path}", token=self._token))
        self.tally.note(await world.call("GET", "/process-runs/?limit=3", token=self._token))
        verdict = {"gate": run.get("parked_at"), "decision": "approved"}
        decided = await world.call("POST", f"/process-runs/{run_id}/resume", verdict, self._token)
        self.done += self.tally.note(decided) is not None and decided is not None and decided.status in {200, 202}

    def enough(self) -> bool:
        return self.done > 0

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        report.least("large-runs: runs decided on", self.done, 1)


SCHEMA_TEMPLATE = """
vertical: strict-inputs
version: 1
title: Strict inputs
description: Its schema looks at every item.
inputs_schema:
  type: object
  additionalProperties: false
  properties:
    x:
      type: array
      uniqueItems: true
      items: {anyOf: [{type: string, minLength: 3, pattern: "^[a-z]+$"}, {type: object, required: [b]}]}
    member_id: {type: integer}
    procedure_code: {type: integer}
    diagnosis: {type: integer}
example: {}
steps:
  - {id: signoff, kind: gate, label: Sign-off, tier: high, role: manager, next: {approved: done, denied: done}}
  - {id: done, kind: end, label: Done, outcome: done}
"""


class Schemas(Probe):
    """Inputs of 1 MiB that break a schema at every item."""

    name = "input-schemas"
    templates: ClassVar = {"strict-inputs.yaml": SCHEMA_TEMPLATE}

    async def prepare(self, world: World) -> None:
        self._token = await world.company("schemas")

    async def attack(self, world: World) -> None:
        shapes: tuple[Any, ...] = inputs()
        while True:
            for one in shapes:
                body = b'{"vertical":"strict-inputs","inputs":' + one + b"}"
                self.tally.note(await world.call("POST", "/process-runs/", body, self._token))
                await asyncio.sleep(BETWEEN_S)

    def enough(self) -> bool:
        return self.tally.statuses[422] > 0

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        report.least("input-schemas: refused as invalid", self.tally.statuses[422], 1)

"""Large bodies in the shapes that are worst to read, without a token and with one."""

from __future__ import annotations

import asyncio
import gzip
from functools import cache

from tests.attack.probes.world import Probe, World, paced
from tests.attack.wire import ask
from tests.load.pump import wire

MIB = 1_048_576
BURST = 64
EVERY_S = 0.33  # of 1.7 KB each, that is 5 KB/s
BODY_EVERY_S = 0.25


@cache
def shapes(size: int = MIB) -> tuple[bytes, ...]:
    """JSON objects of about so many bytes, each of another shape."""
    deep = b"[" * 60 + b"]" * 60 + b","
    units = (b"0,", b'{"a":0},', b"1e5,", b'"",', b"[],", b"{},", deep, b'"\\u00e9",', b"-9223372036854775808,")
    listed = [b'{"x":[' + unit * ((size - 20) // len(unit)) + b"0]}" for unit in units]
    names = b",".join(b'"%06x":0' % number for number in range(size // 12))
    doubles = b",".join(b'"a":0' for _ in range(size // 7))
    return (
        *listed,
        b'{"x":{' + names + b"}}",
        b'{"x":{' + doubles + b"}}",
        b'{"x":"' + b"\xc3\xa9" * (size // 2 - 9) + b'"}',
    )


@cache
def packed(size: int = MIB) -> tuple[bytes, ...]:
    return tuple(gzip.compress(shape) for shape in shapes(size))


class LoginBodies(Probe):
    """A burst of packed bodies without a token, then a trickle of them, from many addresses."""

    name = "login-bodies"

    def __init__(self, burst: int = BURST) -> None:
        super().__init__()
        self._burst = burst

    async def attack(self, world: World) -> None:
        await asyncio.gather(*(self._send(world, number) for number in range(self._burst)))
        await paced(EVERY_S, lambda number: self._send(world, number))

    async def _send(self, world: World, number: int) -> None:
        bodies = packed()
        path = "/auth/register" if number % 4 == 3 else "/auth/login"
        request = wire("POST", path, bodies[number % len(bodies)], {"Content-Encoding": "gzip"})
        source = f"127.0.1.{number % 200 + 1}"
        self.tally.note(await ask(world.target.port, request, source=source))


class CompanyBodies(Probe):
    """Bodies of 1 MiB with a token, plain and packed; none of them is a right request."""

    name = "company-bodies"

    async def prepare(self, world: World) -> None:
        self._token = await world.company("bodies")

    async def attack(self, world: World) -> None:
        await paced(BODY_EVERY_S, lambda number: self._send(world, number))

    async def _send(self, world: World, number: int) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        bodies = shapes()
        if number % 2:
            headers["Content-Encoding"], bodies = "gzip", packed()
        path = ("/process-runs/", "/webhooks/", "/connectors/x/test")[number % 3]
        request = wire("POST", path, bodies[number // 2 % len(bodies)], headers)
        self.tally.note(await ask(world.target.port, request))

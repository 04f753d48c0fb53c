"""`make gateway`: what the gateway adds to an allowed read, at so many callers.

A server of tools by the SDK, the service and the callers are three processes of one machine. In
alternating rounds the callers ask the server itself, and the same through the gateway, at the same
rate: each caller has a connection, and makes its next call when it is due, a `callers / rate` after
the one before. A call that is due while the one before is still open counts from when it was due.
What is added is the median through the gateway less the median of the server itself, of the same
pair of rounds; the figure is the median of the pairs. At that rate no process may wait for a
processor for long: what is measured is a call, not a queue.

Beside it stand the processor time of the service for each call, with all its threads and children,
less what it spends while idle; and how many calls a second come through when no caller pauses. With
one processor for the service, no caller is then answered sooner than after the processor time of
all callers' calls: that is a figure, and no bar.

First a fault is planted: the server waits for 50 ms where a call comes of an action. That has to be
seen, or the rig fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.bench.servers import Served, serving
from tests.cost.__main__ import processor_us
from tests.gateway.served import PLANTED_S
from tests.load.__main__ import Server
from tests.load.pump import wire
from tests.programs import announced

BAR_MS = 3.0
NEWEST, OLDEST = "2026-07-28", "2025-06-18"
META = "io.modelcontextprotocol/"
CLIENT = {"name": "rig", "version": "1"}
WARM = 4
IDLE_S = 3.0
RULES = [{"id": "reads", "tool": "look", "server": "tools", "decision": "allow", "effect": "read"}]
BOTH = "application/json, text/event-stream"


@dataclass(frozen=True, slots=True)
class Plan:
    """So many callers make so many calls each in a round, at a rate all together."""

    callers: int
    calls: int
    rate: float
    rounds: int
    revision: str

    @property
    def each_s(self) -> float:
        """The time from one call of a caller to its next."""
        return self.callers / self.rate


@dataclass(frozen=True, slots=True)
class Side:
    """An address at which the tool is called."""

    port: int
    path: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A round through the gateway beside one without it."""

    direct_ms: list[float]
    through_ms: list[float]
    processor_ms: float

    @property
    def added_ms(self) -> float:
        """What the gateway adds to the median."""
        return statistics.median(self.through_ms) - statistics.median(self.direct_ms)


class Caller:
    """An agent with a connection of its own."""

    def __init__(self, side: Side, plan: Plan, charge: str) -> None:
        self._side, self._plan, self._charge = side, plan, charge
        self._headers = {"Accept": BOTH, "MCP-Protocol-Version": plan.revision}
        if side.token is not None:
            self._headers["Authorization"] = f"Bearer {side.token}"
        self._number = 0

    async def begin(self) -> None:
        """Connect, and begin a session where the revision has one."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._side.port)
        if self._plan.revision == NEWEST:
            self._headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "look"}
            return
        params = {"protocolVersion": self._plan.revision, "capabilities": {}, "clientInfo": CLIENT}
        headers, _ = await self._asked("initialize", params)
        self._headers["Mcp-Session-Id"] = headers["mcp-session-id"]
        await self._asked("notifications/initialized", None)

    async def call(self) -> None:
        """Call the tool, and read its result."""
        params: dict[str, Any] = {"name": "look", "arguments": {"charge": self._charge}}
        if self._plan.revision == NEWEST:
            about = {"protocolVersion": NEWEST, "clientInfo": CLIENT, "clientCapabilities": {}}
            params["_meta"] = {META + name: one for name, one in about.items()}
        _, body = await self._asked("tools/call", params)
        assert f"looked at {self._charge}".encode() in body, body

    def end(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def _asked(self, method: str, params: Any) -> tuple[dict[str, str], bytes]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            self._number += 1
            message |= {"id": self._number, "params": params}
        request = wire("POST", self._side.path, json.dumps(message).encode(), self._headers)
        host = f"Host: 127.0.0.1:{self._side.port}"
        self._writer.write(request.replace(b"Host: 127.0.0.1", host.encode(), 1))
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): one.strip() for name, _, one in (line.partition(":") for line in head[1:])}
        body = await self._body(headers)
        assert head[0].split(" ")[1] in {"200", "202"}, (head, body)
        return headers, body

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)
        return body


async def calls(caller: Caller, count: int, each_s: float, first_at: float) -> list[float]:
    """So many calls, each when it is due: how many milliseconds after that they were answered."""
    found = []
    for number in range(count):
        due = first_at + number * each_s
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await caller.call()
        found.append((time.perf_counter() - due) * 1_000)
    return found


async def volley(side: Side, plan: Plan, charge: str, *, pauses: bool = True) -> tuple[list[float], float]:
    """A round of all callers, spread evenly; what each call took, and how long the whole."""
    callers = [Caller(side, plan, charge) for _ in range(plan.callers)]
    await asyncio.gather(*(one.begin() for one in callers))
    await asyncio.gather(*(one.call() for one in callers))
    each_s, began = plan.each_s if pauses else 0.0, time.perf_counter()
    try:
        taken = await asyncio.gather(
            *(
                calls(one, plan.calls, each_s, began + number * each_s / plan.callers)
                for number, one in enumerate(callers)
            )
        )
        return [each for one in taken for each in one], time.perf_counter() - began
    finally:
        for one in callers:
            one.end()


@asynccontextmanager
async def standing() -> AsyncIterator[tuple[Side, Side, Served]]:
    """The server itself, the same through the gateway, and the service."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-gateway-")))
        environment = {name: one for name, one in os.environ.items() if not name.startswith("PENSTOCK_")}
        _, port = await stack.enter_async_context(announced("tests.gateway.served", env=environment))
        service = await stack.enter_async_context(
            serving(folder / "data", figures=False, egress_allow="127.0.0.0/8", log_level="warning")
        )
        token, company = await service.register()
        server = {"url": f"http://127.0.0.1:{port}/mcp", "reversible": True, "tools": {"look": {"effect": "read"}}}
        await told(service, token, "PUT", "/mcp-servers/tools", server)
        await told(service, token, "PUT", f"/companies/{company}/action-rules", {"rules": RULES})
        key = await told(service, token, "POST", "/api-keys/", {"name": "bot", "role": "member", "kind": "agent"})
        yield Side(port, "/mcp"), Side(service.port, "/mcp/tools", key["key"]), service


async def told(service: Server, token: str, method: str, path: str, body: Any) -> Any:
    """What the service answers to an admin."""
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(wire(method, path, json.dumps(body).encode(), {"Authorization": f"Bearer {token}"}))
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    found = await reader.readexactly(int(head.partition("content-length:")[2].partition("\r\n")[0]))
    writer.close()
    assert head.split(" ")[1] in {"200", "201"}, found
    return json.loads(found)


async def pair(
    direct: Side,
    through: Side,
    service: Server,
    plan: Plan,
    *,
    charge: str,
    turned: bool = False,
    idle_s: float = IDLE_S,
) -> Pair:
    """A round of each kind; the order turns from pair to pair."""
    found: dict[str, list[float]] = {}
    processor_ms = 0.0
    for name in ("through", "direct") if turned else ("direct", "through"):
        before, began = processor_us(service), time.perf_counter()
        await asyncio.sleep(idle_s)
        idle = (processor_us(service) - before) / (time.perf_counter() - began)
        before, began = processor_us(service), time.perf_counter()
        found[name], _ = await volley(through if name == "through" else direct, plan, charge)
        if name == "through":
            spent = processor_us(service) - before - idle * (time.perf_counter() - began)
            processor_ms = spent / 1_000 / (plan.callers * (plan.calls + 1))
    return Pair(found["direct"], found["through"], processor_ms)


def said(name: str, taken: list[float]) -> None:
    """Print one kind of call."""
    ordered = sorted(taken)
    p50, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    print(f"{name:34} p50 {p50:8.2f} ms   p99 {p99:8.2f} ms   {len(ordered):,} calls")


async def measured(plan: Plan) -> int:
    """Measure, print, and say whether the bar is held."""
    async with standing() as (direct, through, service):
        for _ in range(WARM):
            await volley(through, replace(plan, calls=10), "warm", pauses=False)
            await volley(direct, replace(plan, calls=10), "warm", pauses=False)
        planted = await pair(direct, through, service, replace(plan, calls=3), charge="late")
        print(f"planted: {PLANTED_S * 1_000:.0f} ms; seen: {planted.added_ms:.1f} ms")
        if planted.added_ms < PLANTED_S * 500:
            print("MISSED: the rig does not see what it has planted")
            return 1
        pairs = [
            await pair(direct, through, service, plan, charge="ch_1", turned=bool(number % 2))
            for number in range(plan.rounds)
        ]
        said(f"the server itself, {plan.rate:.0f}/s", [one for each in pairs for one in each.direct_ms])
        said(f"through the gateway, {plan.rate:.0f}/s", [one for each in pairs for one in each.through_ms])
        for name, side in (("the server itself", direct), ("through the gateway", through)):
            taken, took_s = await volley(side, plan, "ch_1", pauses=False)
            said(f"{name}, no pauses", taken)
            print(f"{'':34} {len(taken) / took_s:,.0f}/s")
    added, processor = (
        statistics.median(ones) for ones in zip(*((o.added_ms, o.processor_ms) for o in pairs), strict=True)
    )
    print(f"added by pair: {', '.join(f'{one.added_ms:.2f}' for one in pairs)} ms")
    print(f"processor time of the service: {processor:.2f} ms a call ({1_000 / processor:,.0f}/s on one processor)")
    print(
        f"{'HELD' if added <= BAR_MS else 'MISSED'}: {added:.2f} ms added at {plan.callers} callers, at most {BAR_MS}"
    )
    return 0 if added <= BAR_MS else 1


def main() -> int:
    """Read the plan, and measure."""
    parser = argparse.ArgumentParser(prog="make gateway", description=__doc__)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--calls", type=int, default=10, help="of each caller in a round")
    parser.add_argument("--rate", type=float, default=64.0, help="calls a second of all callers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--revision", default=NEWEST, choices=[NEWEST, "2025-11-25", OLDEST])
    return asyncio.run(measured(Plan(**vars(parser.parse_args()))))


if __name__ == "__main__":
    sys.exit(main())

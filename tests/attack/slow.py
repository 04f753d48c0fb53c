"""Slow connections: each is ended in time, and whoever comes properly is answered meanwhile."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from tests.attack.report import Report, percentile
from tests.attack.service import Target
from tests.attack.wire import Answer, ask, read
from tests.load.pump import wire

ENDED, LEFT_BY_OTHER = 7, 8  # TCP_CLOSE and TCP_CLOSE_WAIT, as TCP_INFO says them
LOOK_S = 0.2
PROBE_S = 0.05
LARGE_RUNS, LARGE_CHARS = 4, 100_000
PATIENCE_S = 90.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long the service is given, in seconds; a slow writer sends a byte every so often."""

    closed_s: float = 15.0
    body_timeout_s: float = 30.0
    slack_s: float = 1.5
    byte_s: float = 3.0
    pipelined: int = 1_000
    arrive_s: float = 8.0
    health_ms: float = 100.0


@dataclass(slots=True)
class Seen:
    """What came of the connections: how long each was open, how the bodies were answered, what the
    others waited.
    """

    open_s: dict[str, list[float]] = field(default_factory=dict)
    late_answers: Counter[str] = field(default_factory=Counter)
    answered_s: list[float] = field(default_factory=list)
    pipelined: list[int] = field(default_factory=list)
    health_ms: list[float] = field(default_factory=list)
    ill: int = 0


Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _ended(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(65_536):
            pass


async def _silent(line: Line, _bounds: Bounds) -> None:
    await _ended(line[0])


async def _half_head(line: Line, _bounds: Bounds) -> None:
    line[1].write(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Half: ")
    await _ended(line[0])


async def _drip(line: Line, bounds: Bounds) -> None:
    """A head that goes on for ever, a byte at a time."""

    async def drip() -> None:
        line[1].write(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        while not line[1].is_closing():
            line[1].write(b"x")
            await asyncio.sleep(bounds.byte_s)

    dripping = asyncio.get_running_loop().create_task(drip())
    await _ended(line[0])
    dripping.cancel()
    await asyncio.gather(dripping, return_exceptions=True)


async def _half_body(line: Line, _bounds: Bounds, *, seen: Seen) -> None:
    began = time.monotonic()
    line[1].write(
        b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    answer = await read(line[0])
    seen.answered_s.append(time.monotonic() - began)
    seen.late_answers[_told(answer)] += 1
    await _ended(line[0])


def _told(answer: Answer | None) -> str:
    return "nothing" if answer is None else answer.mistake() or str(answer.status)


async def _pipelined(line: Line, bounds: Bounds, *, seen: Seen) -> None:
    """So many requests at once, answered in order; then silence."""
    line[1].write(wire("GET", "/nowhere") * bounds.pipelined)
    count = 0
    while await read(line[0]) is not None:
        count += 1
        if count == bounds.pipelined:
            break
    seen.pipelined.append(count)


async def _unread(port: int, token: str) -> None:
    """Ask for a large answer and read next to nothing of it; returns when the service ends it."""
    loop = asyncio.get_running_loop()
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        one.setblocking(False)
        await loop.sock_connect(one, ("127.0.0.1", port))
        await loop.sock_sendall(one, wire("GET", "/process-runs/", headers={"Authorization": f"Bearer {token}"}))
        while one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] not in {ENDED, LEFT_BY_OTHER}:
            with suppress(BlockingIOError, ConnectionError):
                one.recv(1)
            await asyncio.sleep(LOOK_S)


async def _arrive(target: Target, seen: Seen, bounds: Bounds, number: int, after_s: float, token: str) -> None:
    await asyncio.sleep(after_s)
    await _hold(target, seen, bounds, _kind(number), token)


async def _hold(target: Target, seen: Seen, bounds: Bounds, kind: str, token: str) -> None:
    """One slow connection until it is ended; how long it took counts from its last sign of life
    that is no trick.
    """
    kinds: dict[str, Callable[[Line, Bounds], Awaitable[None]]] = {
        "no bytes": _silent,
        "half a head": _half_head,
        "a byte every few seconds": _drip,
        "half a body": partial(_half_body, seen=seen),
        PIPELINED: partial(_pipelined, seen=seen),
    }
    began = time.monotonic()
    if kind == "slow reader":
        await _unread(target.port, token)
    else:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        began = time.monotonic()
        with suppress(ConnectionError):
            await kinds[kind]((reader, writer), bounds)
            if kind == PIPELINED:
                began = time.monotonic()
                await _ended(reader)
        writer.close()
    seen.open_s.setdefault(kind, []).append(time.monotonic() - began)


KINDS = ("no bytes", "half a head", "a byte every few seconds", "half a body", "slow reader")
PIPELINED = "pipelined"


def _kind(number: int) -> str:
    """Every fiftieth sends many requests at once, the others take turns in being slow."""
    return PIPELINED if number % 50 == 0 else KINDS[number % len(KINDS)]


async def _probe(target: Target, seen: Seen) -> None:
    """Ask for the service's health, on new connections, all the time."""
    while True:
        began = time.perf_counter()
        answer = await ask(target.port, wire("GET", "/health"), within_s=5.0)
        seen.health_ms.append((time.perf_counter() - began) * 1000)
        seen.ill += answer is None or answer.status != 200
        await asyncio.sleep(PROBE_S)


async def _large(target: Target, token: str) -> None:
    """Runs whose list is a large answer."""
    inputs = {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "x" * LARGE_CHARS}
    for _ in range(LARGE_RUNS):
        answer = await target.ask("POST", "/process-runs/", {"vertical": "prior-auth", "inputs": inputs}, token)
        assert answer.status == 201, answer.body


async def slow(target: Target, report: Report, connections: int, bounds: Bounds) -> None:
    """So many slow connections of every kind; they arrive within a few seconds."""
    token, seen, before = await target.register("slow"), Seen(), target.memory_mb
    await _large(target, token)
    probing = asyncio.get_running_loop().create_task(_probe(target, seen))
    held = {
        asyncio.get_running_loop().create_task(
            _arrive(target, seen, bounds, number, number * bounds.arrive_s / connections, token),
            name=_kind(number),
        )
        for number in range(connections)
    }
    _, never = await asyncio.wait(held, timeout=PATIENCE_S)
    for one in never:
        one.cancel()
    await asyncio.gather(*held, return_exceptions=True)
    probing.cancel()
    await asyncio.gather(probing, return_exceptions=True)
    report.most("connections that were not ended at all", len(never), 0)
    report.told("of these", dict(Counter(one.get_name() for one in never)))
    for kind in seen.open_s:
        limit = bounds.closed_s if kind != "half a body" else bounds.body_timeout_s + bounds.slack_s
        report.most(f"{kind}: open at the longest", max(seen.open_s[kind]), limit, " s")
    report.told("half a body: answers", json.dumps(seen.late_answers))
    report.most(
        "half a body: not 408 in the contract's form", sum(seen.late_answers.values()) - seen.late_answers["408"], 0
    )
    report.least("pipelined: requests answered on each connection", min(seen.pipelined, default=0), bounds.pipelined)
    report.most("/health meanwhile, p99", percentile(seen.health_ms, 0.99), bounds.health_ms, " ms")
    report.most("/health meanwhile, not 200", seen.ill, 0)
    report.told("memory before and after", f"{before:.0f} and {target.memory_mb:.0f} MB")

"""The history of every run as the service shows it over HTTP, fetched once into a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson

from tests.crash.folding import seen
from tests.crash.wire import Wire

AT_ONCE = 24
PAGE = 200


async def export(port: int, token: str, file: Path) -> int:
    """Write a line for each run, with what is shown of it and its events; returns how many there
    are.
    """
    wires, written = [Wire(port, token) for _ in range(AT_ONCE)], 0
    with file.open("wb") as out:
        async for page in pages(Wire(port, token), f"/process-runs/?limit={PAGE}"):
            shares = [page[number::AT_ONCE] for number in range(AT_ONCE)]
            told = await asyncio.gather(*(_told(wire, share) for wire, share in zip(wires, shares, strict=True)))
            out.write(b"".join(line for share in told for line in share))
            written += len(page)
    return written


async def _told(wire: Wire, runs: list[dict[str, Any]]) -> list[bytes]:
    lines: list[bytes] = []
    for run in runs:
        events = [_brief(event) async for page in pages(wire, _events(run)) for event in page]
        shown = {"id": run["id"], "vertical": run["vertical"], "seen": seen(run), "events": events}
        lines.append(orjson.dumps(shown) + b"\n")
    return lines


def _events(run: dict[str, Any]) -> str:
    return f"/process-runs/{run['id']}/events?limit={PAGE}"


def _brief(event: dict[str, Any]) -> dict[str, Any]:
    """An event without the body of its call, which may be long."""
    request = event.get("request")
    return event if request is None else {**event, "request": {"tool": request["tool"], "mode": request["mode"]}}


async def pages(wire: Wire, path: str) -> AsyncIterator[list[dict[str, Any]]]:
    """All pages of a list, by the links of their answers."""
    following: str | None = path
    while following is not None:
        answer = await wire.ask("GET", following)
        if answer.status != 200:
            raise AssertionError(f"{following} was answered {answer.status}")
        yield answer.json
        following = answer.next_path

"""What the tools do, each with one client of the service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import accumulate
from typing import Any, TypeVar

from pydantic import BaseModel

from daemon.client import Penstock

M = TypeVar("M", bound=BaseModel)
Json = dict[str, Any]
LISTED_MAX = 200
EVENTS_MAX = 500
EXACT_MAX = 10**13  # below it an amount with two decimals is what it was written as
GATES_SIZE_MAX = 60_000  # characters of JSON, a fifth of what smaller models read at once


async def list_templates(api: Penstock) -> Json:
    return {"templates": await _some(api.templates(), LISTED_MAX)}


async def get_canvas(api: Penstock, vertical: str) -> Json:
    return _json(await api.canvas(vertical))


async def list_gates(api: Penstock, which: Json, limit: int, cursor: str | None) -> Json:
    """The open gates with their policies, most urgent first, and the cursor of those behind."""
    begin = int(cursor or 0)
    found = (await _some(api.gates(**which, limit=LISTED_MAX), begin + limit + 1))[begin:]
    sizes = accumulate(len(json.dumps(one)) for one in found[:limit])
    fitting = max(1, sum(size <= GATES_SIZE_MAX for size in sizes))
    return {"gates": found[:fitting], "next_cursor": str(begin + fitting) if len(found) > fitting else None}


async def preview_gate(api: Penstock, run_id: str, step_id: str) -> Json:
    return _json(await api.preview(run_id, step_id))


async def get_run(api: Penstock, run_id: str) -> Json:
    return _json(await api.run(run_id))


async def get_run_events(api: Penstock, run_id: str, after: int, limit: int) -> Json:
    return {"events": await _some(api.events(run_id, after=after), limit)}


async def start_run(api: Penstock, vertical: str, inputs: Json, key: str | None) -> Json:
    """Start a run; ValueError for a number of whose digits some may be lost already."""
    if _is_blurred(inputs):
        raise ValueError("invalid: a number has more digits than can be kept; send it as a string.")
    return _json(await api.start(vertical, inputs=inputs, key=key))


async def request_action(api: Penstock, call: Json, wait_s: int | None, key: str | None) -> Json:
    """Ask for a call; ValueError for a number of whose digits some may be lost already."""
    if _is_blurred(call):
        raise ValueError("invalid: a number has more digits than can be kept; send it as a string.")
    return _json(await api.request_action(**call, wait_s=wait_s, key=key))


async def get_action(api: Penstock, action_id: str) -> Json:
    return _json(await api.action(action_id))


async def propose(api: Penstock, run_id: str, proposal: Json, key: str | None) -> Json:
    return _json(await api.propose(run_id, **proposal, key=key))


def _is_blurred(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_is_blurred, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and abs(value) >= EXACT_MAX


async def _some(found: AsyncIterator[M], limit: int) -> list[Json]:
    return [_json(one) for one in await _first(found, limit)]


async def _first(found: AsyncIterator[M], limit: int) -> list[M]:
    first: list[M] = []
    async for one in found:
        first.append(one)
        if len(first) >= limit:
            break
    return first


def _json(one: BaseModel) -> Json:
    return one.model_dump(mode="json")

"""The reports equal a recount of random histories, and a fault in them is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from actors.core.messages import (
    CallSettled,
    CompensationBegan,
    EventBase,
    GateEscalated,
    GateExpired,
    GateOpened,
    RunEnded,
    StepCleared,
    StepEntered,
    VerdictGiven,
)
from daemon.model.reports.projection import FOLLOWS
from daemon.stores.tables.reports import following, numbers
from tests.reports.comparing import differences, played, store_in
from tests.seeds import drawn

HISTORIES = 150
Plant = Callable[[pytest.MonkeyPatch], None]


async def wrong(folder: Path, histories: range = range(HISTORIES)) -> list[str]:
    async with store_in(folder) as store:
        recount, _ = await played(store, histories, "acme")
        return await differences(store, "acme", recount, Random(histories.start))


async def test_every_number_equals_a_recount_from_the_events(tmp_path: Path) -> None:
    first = drawn()
    assert await wrong(tmp_path, range(first, first + 2 * HISTORIES)) == []


@pytest.mark.parametrize(
    "forgotten",
    [
        StepEntered,
        GateOpened,
        GateEscalated,
        VerdictGiven,
        GateExpired,
        StepCleared,
        CallSettled,
        CompensationBegan,
        RunEnded,
    ],
)
async def test_a_forgotten_event_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: type[EventBase]
) -> None:
    monkeypatch.delitem(FOLLOWS, forgotten)
    assert await wrong(tmp_path)


async def test_a_batch_that_begins_with_no_open_visits_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: Any) -> dict[Any, Any]:
        return {}

    monkeypatch.setattr(following, "_visits", none)
    assert await wrong(tmp_path)


async def test_a_median_beside_the_middle_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "_TIMES", numbers._TIMES.replace("(n + 1) / 2", "n / 2 + 1"))
    assert await wrong(tmp_path)

"""The inbox lists each gate that is open, whoever left it out."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.engine import upkeep
from daemon.model.inbox import GateQuery
from daemon.stores.store import Store
from tests.histories import ACME, start


async def test_gates_that_no_inbox_lists_are_found_page_by_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "BATCH", 2)
    runs = [f"run-{number}" for number in range(5)]
    for run_id in runs:
        await store.append(start(run_id))

    async def lose(db: Any) -> None:
        await db.execute("INSERT INTO companies (id, name, created_at) VALUES ($1, '', '')", ACME)
        await db.execute("DELETE FROM open_gates WHERE run_id IN ('run-2', 'run-4')")

    await store._write(ACME, lose)
    assert len(await store.open_gates(ACME, GateQuery())) == 3
    await upkeep.tend_inbox(store)
    assert sorted(gate.run_id for gate in await store.open_gates(ACME, GateQuery())) == runs

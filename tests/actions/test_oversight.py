"""What the log of agents says of an action that people changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from actors.core.decider import TurnResult, step
from actors.core.messages import EventBase, Resume
from actors.core.run import Run
from daemon.actions.oversight import Told, action_entry
from daemon.model.actions import action_row
from daemon.stores.sqlite.store import SqliteStore
from tests.actions.test_making import COMPANY, LIVE, made
from tests.histories import NOON


async def test_changed_arguments_are_told_with_where_and_by_whom(tmp_path: Path) -> None:
    async with SqliteStore.open(tmp_path / "penstock.db") as store:
        start, template = await made(store)
    verdict: dict[str, Any] = {"gate": "refunds", "by": "bob", "role": "owner", "at": NOON, "decision": "approved"}
    run: Run | None = None
    events: list[EventBase] = []
    for message in (start, Resume(**verdict, arguments={"amount": 2000})):
        done = step(run, message, template, LIVE, company=COMPANY)
        assert isinstance(done, TurnResult), done
        run, events = done.run, [*events, *done.events]
    assert run is not None
    row = action_row(run)
    assert row is not None
    told = Told(row, run, events)
    entry = action_entry(told, {})
    who = {"at": NOON, "by": "bob", "by_kind": "person", "on_behalf_of": None}
    assert (entry["arguments"], told.asks_for) == ({"amount": 4900}, None)
    assert entry["overrides"] == [{**who, "kind": "arguments", "pointers": ["/amount"]}]
    assert entry["verdicts"] == [{**who, "decision": "approved", "comment": None, "code": None, "withdrawn_at": None}]
    without = action_entry(Told(row, None, ()), {})
    assert (without["tool"], without["verdicts"], without["arguments"]) == ("stripe.refund", [], None)

"""The commands about the actions of agents against the real service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.web.asking import ASKS, Agent, ruled
from tests.web.operators import Operator
from tests.web.people import colleague
from tests.web.support import House, Person


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    with capture_logs():
        yield


async def test_an_action_is_found_shown_and_cancelled(operator: Operator, house: House, ann: Person) -> None:
    await ruled(ann, ASKS)
    helper = await Agent.named(house, ann)
    run = await helper.asks(server="pay", reasoning="charged \x1b[31mtwice")
    await helper.asks({"amount": 2}, tool="unruled")
    for words in (("--server", "pay"), ("--rule", "refunds"), ("--agent", "helper", "--tool", "stripe.refund")):
        assert [one["id"] for one in await operator.reads("actions", "ls", *words)] == [run.id]
    shown = (await operator.says("actions", "show", run.id)).stdout
    assert all(text in shown for text in ("stripe.refund", "helper", "ask by refunds, version 1"))
    assert "\x1b[31mtwice" not in shown
    kept = await operator.says("actions", "cancel", run.id, types="n\n")
    assert (kept.exit_code, (await ann.run({"id": run.id}))["status"]) == (1, "parked")
    gone = await operator.reads("actions", "cancel", run.id, "--reason", "wrong charge", "--yes")
    assert (gone["status"], gone["reason"]) == ("cancelled", "wrong charge")


async def test_a_rule_is_proposed_by_a_manager_and_accepted_by_an_admin(
    operator: Operator, house: House, ann: Person, tmp_path: Path
) -> None:
    await ruled(ann, ASKS)
    run = await (await Agent.named(house, ann)).asks()
    bob = Operator(operator.url, tmp_path / "bob", (await colleague(ann, "bob", "manager")).token)
    change = await bob.reads("actions", "rules", "propose", run.id)
    assert (change["act"], change["status"]) == ("action_rule", "open")
    assert (await bob.says("company", "changes", "approve", change["id"])).exit_code == 1
    assert (await operator.reads("company", "changes", "approve", change["id"]))["status"] == "approved"
    found = await operator.reads("actions", "rules", "show")
    assert [one["decision"] for one in found["rules"]] == ["allow", "ask"]

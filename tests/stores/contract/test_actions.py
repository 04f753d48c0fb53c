"""Rows of actions, budgets that are held, calls that are joined, and documents of rules."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace as changed

from actors.core.actions.deciding import SCALE, Spent
from actors.core.messages import CallSettled, RunEnded, VerdictGiven
from daemon.model.actions import (
    ActionDocument,
    ActionJoin,
    ActionQuery,
    BudgetHold,
    Joined,
    McpServerChange,
    StoredMcpServer,
    action_row,
)
from tests.histories import ACME, NOON, OTHER, action, append, commit, start

if TYPE_CHECKING:
    from daemon.stores.store import Store
    from tests.histories import Clock

DAY = timedelta(days=1)
MAX = 100 * SCALE


def hold(run_id: str, amount: int = 10 * SCALE, **said: Any) -> BudgetHold:
    return BudgetHold(**{"company_id": ACME, "rule": "refunds", "scope": "refunds-bot", "run_id": run_id,
                         "amount": amount, "held_at": NOON, **said})  # fmt: skip


async def test_a_run_that_is_an_action_is_listed_with_its_commits(store: Store) -> None:
    began = action("run-1", gates=("signoff",), decision="ask")
    await store.append(began)
    found = await store.action(ACME, "run-1")
    assert found == action_row(began.run)
    assert found is not None
    assert (found.status, found.outcome, found.spent_at) == ("parked", None, None)
    approved = VerdictGiven(at=NOON + DAY, step_id="signoff", visit=1, decision="approved", by="bob")
    await append(store, decided := commit(began.run, approved, resting=False))
    found = await store.action(ACME, "run-1")
    assert found == action_row(decided.run)
    assert found is not None
    assert found.spent_at == NOON + DAY
    settled = CallSettled(at=NOON, step_id="signoff", visit=1, output={})
    await append(store, commit(decided.run, settled, RunEnded(at=NOON, status="completed", outcome="made")))
    found = await store.action(ACME, "run-1")
    assert found is not None
    assert (found.status, found.outcome, found.spent_at) == ("completed", "made", NOON + DAY)
    await store.append(start("run-2"))
    assert await store.action(ACME, "run-2") is None
    assert await store.action(OTHER, "run-1") is None


async def test_actions_are_listed_the_newest_first_by_what_is_asked_for(store: Store) -> None:
    for number, agent in enumerate(("ann", "bob", "ann", "ann"), 1):
        await store.append(action(f"run-{number}", agent=agent, tool=f"tool-{number % 2}"))
    await store.append(action("run-5", OTHER))

    async def listed(**asked: Any) -> list[str]:
        return [one.run_id for one in await store.actions(ACME, ActionQuery(**asked))]

    assert await listed() == ["run-4", "run-3", "run-2", "run-1"]
    assert await listed(limit=2) == ["run-4", "run-3"]
    assert await listed(before="run-3") == ["run-2", "run-1"]
    assert await listed(agent="ann", tool="tool-1") == ["run-3", "run-1"]
    assert await listed(status="executing", server="stripe", rule="refunds", agent_id="key-1") != []
    assert await listed(outcome="unknown") == await listed(status="parked") == []
    row = action_row(action("run-1").run)
    assert row is not None
    assert len(await listed(context_key=row.context_key)) == 4
    assert await store.rule_hits(ACME, NOON - DAY) == {"refunds": {"allow": 4}}
    assert await store.rule_hits(ACME, NOON + DAY) == {}


async def test_a_budget_is_held_once_by_a_run_and_becomes_what_was_spent(store: Store) -> None:
    since = NOON - DAY
    first = await store.hold_budget(hold("run-1", 60 * SCALE), since, MAX)
    assert first == (True, Spent())
    assert (await store.hold_budget(hold("run-1", 60 * SCALE), since, MAX)).held
    refused = await store.hold_budget(hold("run-2", 60 * SCALE), since, MAX)
    assert refused == (False, Spent(1, 60 * SCALE))
    await store.append(action("run-1", amount=60 * SCALE))
    assert await store.budget_spent(ACME, "refunds", "refunds-bot", since, now=NOON) == Spent(1, 60 * SCALE)
    assert (await store.hold_budget(hold("run-1", 60 * SCALE), since, MAX)).held
    assert await store.budget_spent(ACME, "refunds", "refunds-bot", since, now=NOON) == Spent(1, 60 * SCALE)
    assert await store.budget_spent(ACME, "refunds", "", since, now=NOON) == Spent(1, 60 * SCALE)
    assert await store.budget_spent(ACME, "refunds", "other", since, now=NOON) == Spent()
    assert await store.budget_spent(ACME, "refunds", "refunds-bot", NOON + DAY, now=NOON) == Spent()
    assert await store.budget_spent(OTHER, "refunds", "refunds-bot", since, now=NOON) == Spent()


async def test_what_a_run_holds_is_given_back_by_itself_or_in_time(store: Store, clock: Clock) -> None:
    since = NOON - DAY
    assert (await store.hold_budget(hold("run-1", MAX), since, MAX)).held
    await store.give_back(ACME, "run-1")
    assert (await store.hold_budget(hold("run-2", MAX), since, MAX)).held
    clock.forward(seconds=59)
    assert await store.drop_holds(clock()) == 0
    assert (await store.hold_budget(hold("run-3", 1, held_at=clock()), since, MAX)) == (False, Spent(1, MAX))
    clock.forward(seconds=2)
    assert (await store.hold_budget(hold("run-3", 1, held_at=clock()), since, MAX)) == (True, Spent())
    assert await store.drop_holds(clock()) == 1
    assert await store.budget_spent(ACME, "refunds", "refunds-bot", since, now=clock()) == Spent(1, 1)


async def test_a_call_that_was_not_made_gives_its_amount_back(store: Store) -> None:
    began = action("run-1")
    await store.append(began)
    spent = ("refunds", "refunds-bot", NOON - DAY)
    assert await store.budget_spent(ACME, *spent, now=NOON) == Spent(1, 10 * SCALE)
    await append(store, commit(began.run, RunEnded(at=NOON, status="cancelled")))
    assert await store.budget_spent(ACME, *spent, now=NOON) == Spent()


async def test_a_hold_expects_what_a_condition_has_read(store: Store) -> None:
    assert (await store.hold_budget(hold("run-1"), NOON - DAY, MAX, Spent(0, 0, MAX))).held
    stale = await store.hold_budget(hold("run-2"), NOON - DAY, MAX, Spent(0, 0, MAX))
    assert stale == (False, Spent(1, 10 * SCALE))
    assert (await store.hold_budget(hold("run-2"), NOON - DAY, MAX, stale.spent)).held


async def test_large_amounts_add_up_exactly(store: Store) -> None:
    most = 10**10 * SCALE
    for number in range(3):
        assert (await store.hold_budget(hold(f"run-{number}", most - 1), NOON - DAY, 2**62)).held
    assert await store.budget_spent(ACME, "refunds", "refunds-bot", NOON - DAY, now=NOON) == Spent(3, 3 * (most - 1))


async def test_of_many_holds_at_once_none_passes_the_budget(store: Store) -> None:
    asked = [store.hold_budget(hold(f"run-{number:03}", SCALE), NOON - DAY, MAX) for number in range(200)]
    outcomes = await asyncio.gather(*asked)
    assert sum(one.held for one in outcomes) == 100
    assert max(one.spent.sum for one in outcomes) == MAX
    assert await store.budget_spent(ACME, "refunds", "refunds-bot", NOON - DAY, now=NOON) == Spent(100, MAX)


async def test_the_same_call_joins_the_action_until_its_result_is_taken(store: Store) -> None:
    join = ActionJoin(ACME, "key-1", "print", "run-1", NOON)
    found = await asyncio.gather(*(store.join_action(replace(join, run_id=f"run-{one}")) for one in range(20)))
    assert found.count(None) == 1
    (claimed,) = {one for one in found if one is not None}
    assert found.index(None) == int(claimed.removeprefix("run-"))
    assert await store.join_action(replace(join, agent_id="key-2", run_id="run-99")) is None
    began = action(claimed)
    await store.append(began)
    later = replace(join, run_id="run-77", reserved_at=NOON + DAY)
    assert await store.join_action(later) == claimed
    await append(store, commit(began.run, RunEnded(at=NOON, status="completed", outcome="made")))
    assert await store.join_action(later) == claimed
    taken = [await store.take_action(ACME, "key-1", "print", run_id=claimed, at=NOON) for _ in range(2)]
    assert taken == [True, False]
    assert await store.join_action(later) is None


async def test_a_claim_of_a_run_that_never_began_lapses(store: Store) -> None:
    join = ActionJoin(ACME, "key-1", "print", "run-1", NOON)
    assert await store.join_action(join) is None
    at_9, at_11 = NOON + timedelta(seconds=9), NOON + timedelta(seconds=11)
    assert await store.join_action(replace(join, run_id="run-2", reserved_at=at_9)) == "run-1"
    assert await store.join_action(replace(join, reserved_at=at_9)) is None, "its own once more"
    assert await store.join_action(replace(join, run_id="run-2", reserved_at=at_11)) is None


async def test_the_claim_of_anybody_ends_with_the_run(store: Store) -> None:
    join = ActionJoin(ACME, "", "print", "run-1", NOON)
    assert await store.join_action(join) is None
    began = action("run-1")
    await store.append(began)
    later = replace(join, run_id="run-2", reserved_at=NOON + DAY)
    assert await store.join_action(later) == "run-1"
    await append(store, commit(began.run, RunEnded(at=NOON, status="completed", outcome="made")))
    assert await store.join_action(later) is None


async def test_an_action_in_doubt_is_found_by_its_call(store: Store) -> None:
    began = action("run-1", gates=("signoff",), decision="ask")
    opened = changed(began.events[-1], in_doubt=True)
    await store.append(commit(None, *began.events[:-1], opened))
    join = ActionJoin(ACME, "", "print", "run-2", NOON)
    for _ in range(2):
        assert await store.claim_call(join) == Joined("run-1", own=False, doubtful=True)
    for other in (replace(join, company_id=OTHER), replace(join, fingerprint="another")):
        assert await store.claim_call(other) == Joined("run-2", own=True)
    assert await store.budget_spent(ACME, "refunds", "refunds-bot", NOON - DAY, now=NOON) == Spent(1, 10 * SCALE)


async def test_a_document_of_a_rule_is_kept_once(store: Store) -> None:
    one = ActionDocument(ACME, "sha256:1", '{"vertical":"action"}')
    for _ in range(2):
        await store.keep_action_template(one)
    assert await store.action_template(ACME, "sha256:1") == one.document
    assert await store.action_template(OTHER, "sha256:1") is None


@pytest.mark.parametrize("tool", ["a\0b", "ü" * 300])
async def test_a_tool_of_any_name_is_kept(store: Store, tool: str) -> None:
    await store.append(action("run-1", tool=tool))
    found = await store.action(ACME, "run-1")
    assert found is not None
    assert found.tool == tool.replace("\0", "\ufffd")


async def test_a_repeat_of_a_request_has_the_run_that_it_claimed_until_that_has_begun(store: Store) -> None:
    join = ActionJoin(ACME, "", "print", "run-1", NOON, request="key-1")
    assert await store.claim_call(join) == Joined("run-1", own=True)
    assert await store.claim_call(replace(join, run_id="run-2")) == Joined("run-1", own=True)
    assert await store.claim_call(replace(join, run_id="run-3", request="key-2")) == Joined("run-1", own=False)
    assert await store.claim_call(replace(join, run_id="run-3", request="")) == Joined("run-1", own=False)
    await store.append(action("run-1"))
    assert await store.claim_call(replace(join, run_id="run-2")) == Joined("run-1", own=False)


async def test_claims_of_anybody_are_dropped_once_their_calls_are_over(store: Store, clock: Clock) -> None:
    open_, over = action("run-1"), action("run-2")
    for run_id in ("run-1", "run-2", "run-3"):
        await store.join_action(ActionJoin(ACME, "", f"print-{run_id}", run_id, NOON))
    await store.join_action(ActionJoin(ACME, "key-1", "print", "run-4", NOON))
    await store.append(open_)
    await store.append(over)
    await append(store, commit(over.run, RunEnded(at=NOON, status="completed", outcome="made")))
    assert await store.drop_joins(NOON) == 0
    assert await store.drop_joins(NOON + DAY) == 2
    later = ActionJoin(ACME, "", "print-run-1", "run-9", NOON + DAY)
    assert await store.join_action(later) == "run-1"


async def test_a_call_is_held_until_one_lets_it_go(store: Store) -> None:
    await store.append(action("run-1"))
    assert not await store.call_held(ACME, "run-1")
    assert not await store.release_call(ACME, "run-1")
    await store.hold_call(ACME, "run-1", NOON)
    assert await store.call_held(ACME, "run-1")
    assert [await store.release_call(ACME, "run-1") for _ in range(2)] == [True, False]
    assert not await store.call_held(ACME, "run-1")


async def test_a_call_is_joined_as_long_as_its_claim_lasts(store: Store) -> None:
    later = NOON + timedelta(seconds=10)
    assert await store.joined_action(ACME, "key-1", "print", NOON) is None
    await store.join_action(ActionJoin(ACME, "key-1", "print", "run-1", NOON))
    assert await store.joined_action(ACME, "key-1", "print", NOON) == "run-1"
    assert await store.joined_action(ACME, "key-2", "print", NOON) is None
    assert await store.joined_action(OTHER, "key-1", "print", NOON) is None
    assert await store.joined_action(ACME, "key-1", "print", later) is None
    await store.append(action("run-1"))
    assert await store.joined_action(ACME, "key-1", "print", later) == "run-1"
    assert await store.take_action(ACME, "key-1", "print", run_id="run-1", at=NOON)
    assert await store.joined_action(ACME, "key-1", "print", later) is None


async def test_servers_are_kept_for_their_company_with_each_change(store: Store) -> None:
    state = {"url": "http://t.test", "auth_type": "none", "reversible": True, "trust_annotations": False}
    form: dict[str, Any] = {**state, "wait_s": 50, "tools": {}}
    kept: dict[str, Any] = {**form, "sealed_secret": None, "changed_at": NOON, "changed_by": "ann"}
    for number, name in ((1, "b"), (1, "a"), (2, "a")):
        change = McpServerChange(ACME, name, number, number, NOON, "ann", "none", None, form, "session")
        await store.put_server(StoredMcpServer(company_id=ACME, name=name, version=number, **kept), change)
    assert [(one.name, one.version) for one in await store.servers_of(ACME)] == [("a", 2), ("b", 1)]
    assert list(await store.servers_of(OTHER)) == []
    gone = McpServerChange(ACME, "a", 3, 2, NOON, "ann", "none", form, None, "session")
    assert await store.delete_server(replace(gone, company_id=OTHER)) is False
    assert await store.delete_server(gone) is True
    assert await store.delete_server(replace(gone, number=4)) is False
    assert [one.number for one in await store.server_changes(ACME, "a", None, 9)] == [3, 2, 1]
    assert [one.number for one in await store.server_changes(ACME, "a", 3, 1)] == [2]

"""What an agent earns: its calls are cleared on what people decided, by rule, tool and model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.core.run import Run
from tests.web.asking import ASKS, Agent, ruled
from tests.web.people import company
from tests.web.support import House, Person, assert_invalid

CASES = 60
MEDIUM: dict[str, Any] = {**ASKS, "tier": "medium", "effect": "reversible", "gate": {"editable": ["/amount"]}}
LEARNS: dict[str, Any] = {"threshold": 0.9, "sample_one_in": 20}


async def learning(ann: Person, **more: Any) -> Any:
    said = {"confidence_floor": 0.99, "learnable": {"action/refunds": LEARNS}, **more}
    return await ann.put(f"{company(ann)}/autonomy", said)


async def many(agent: Agent, count: int, first: int = 0, **said: Any) -> list[Run]:
    return list(await asyncio.gather(*(agent.asks({"amount": first + nth}, **said) for nth in range(count))))


async def approved(ann: Person, runs: list[Run]) -> None:
    verdicts = [
        {"run_id": run.id, "gate": "refunds", "decision": "approved", "digest": run.parked[0].gate.digest}
        for run in runs
        if run.parked[0].gate is not None
    ]
    told = await ann.post("/gates/verdicts", {"verdicts": verdicts})
    assert {one["status"] for one in told.json["results"]} == {200}, told.raw


def why(run: Run) -> tuple[str, int]:
    """Why a panel cleared it or not, and how many cases were known."""
    visit = next(one for one in (*run.trace, *run.open) if one.panel is not None)
    assert visit.panel is not None
    assert visit.panel.weighed is not None
    return visit.panel.weighed.why, visit.panel.weighed.cases


@pytest.fixture
async def earned(house: House, ann: Person) -> Agent:
    """An agent with so many calls that people approved."""
    await ruled(ann, MEDIUM)
    assert (await learning(ann)).status == 200
    helper = await Agent.named(house, ann, model="m-1")
    runs = await many(helper, CASES)
    assert {run.status for run in runs} == {"parked"}
    assert {why(run)[0] for run in runs} == {"few_cases"}
    await approved(ann, runs)
    return helper


async def test_calls_that_people_agree_with_are_cleared_alone_and_say_on_what_numbers(
    ann: Person, earned: Agent
) -> None:
    runs = await many(earned, 10, CASES)
    assert {why(run) for run in runs} <= {("learned", CASES), ("sampled", CASES)}
    cleared = [run for run in runs if run.status == "completed"]
    assert cleared
    trace = (await ann.get(f"/process-runs/{cleared[0].id}")).json["trace"][0]
    assert trace["resolved_by"] == "autopilot"
    assert f"people agreed in {CASES} of {CASES} cases" in trace["reason"]
    (step,) = (await ann.get(f"{company(ann)}/autonomy/calibration")).json["steps"]
    about = {name: step[name] for name in ("vertical", "step_id", "tool", "server", "model", "cases", "judges")}
    assert about == {
        "vertical": "action",
        "step_id": "refunds",
        "tool": "stripe.refund",
        "server": None,
        "model": "m-1",
        "cases": CASES,
        "judges": {},
    }


async def test_another_model_or_tool_begins_at_nothing(house: House, ann: Person, earned: Agent) -> None:
    other = await earned.asks({"amount": 1000}, tool="stripe.charge")
    assert (other.status, why(other)) == ("parked", ("few_cases", 0))
    await earned.becomes("m-2")
    changed = await earned.asks({"amount": 1001})
    assert (changed.status, why(changed)) == ("parked", ("few_cases", 0))
    await earned.becomes("m-1")
    assert why(await earned.asks({"amount": 1002}))[1] == CASES
    same = await Agent.named(house, ann, "another", "m-1")
    assert why(await same.asks({"amount": 1003}))[1] == CASES


async def test_a_rule_that_changed_begins_at_nothing(ann: Person, earned: Agent) -> None:
    await ruled(ann, {**MEDIUM, "when": "arguments.amount >= 0"})
    assert why(await earned.asks({"amount": 1000})) == ("few_cases", 0)


async def test_a_company_that_clears_nothing_and_a_higher_threshold_ask_always(ann: Person, earned: Agent) -> None:
    higher = {"learnable": {"action/refunds": {**LEARNS, "threshold": 0.99}}}
    assert (await learning(ann, **higher)).status == 200
    run = await earned.asks({"amount": 1000})
    assert (run.status, why(run)[0]) == ("parked", "below_floor")
    assert (await learning(ann, auto_resolve=False)).status == 200
    assert {run.status for run in await many(earned, 10, 2000)} == {"parked"}


async def test_denials_take_back_what_was_earned(ann: Person, earned: Agent) -> None:
    higher = {"learnable": {"action/refunds": {**LEARNS, "threshold": 0.99}}}
    assert (await learning(ann, **higher)).status == 200
    for run in await many(earned, 5, 3000):
        said = {"gate": "refunds", "decision": "denied", "comment": "no"}
        assert (await ann.post(f"/process-runs/{run.id}/resume", said)).status == 200
    assert (await learning(ann)).status == 200
    runs = await many(earned, 5, 9000)
    assert {(run.status, why(run)) for run in runs} == {("parked", ("below_floor", CASES + 5))}


async def test_a_call_in_doubt_or_above_a_budget_is_never_cleared_alone(ann: Person, earned: Agent) -> None:
    first = await earned.asks({"amount": 5000}, tool="stripe.other")
    again = await earned.asks({"amount": 5000}, tool="stripe.other")
    assert (first.status, again.status) == ("parked", "parked")
    assert again.action is not None
    assert again.action.why is not None
    assert again.open[0].tier == "high"


@pytest.mark.parametrize("rule", ["refunds", "unruled", "gone"])
async def test_only_a_rule_that_asks_and_is_of_the_tier_medium_may_learn(ann: Person, rule: str) -> None:
    await ruled(ann, ASKS)
    told = await ann.put(f"{company(ann)}/autonomy", {"learnable": {f"action/{rule}": LEARNS}})
    assert_invalid(told, f"/learnable/action~1{rule}")

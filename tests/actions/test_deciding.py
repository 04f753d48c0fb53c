"""What is decided about calls that come at once, in doubt, again, or while agents are stopped."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from actors.core.actions.deciding import SCALE, ActionRule, BudgetRule, Call, Spent, fingerprint
from actors.core.autonomy import CompanyAutonomy
from actors.core.messages import GateOpened, RunEnded
from daemon.actions.deciding import DecidedCall, Deciding, Held, open_deciding
from daemon.actions.rules import RulesRefused
from daemon.evaluation.evaluator import evaluating
from daemon.identity.company.companies import Companies
from daemon.identity.tokens import OutOfScope, Principal
from daemon.model.events.company import ActionRuleSet
from daemon.model.key_terms import KeyTerms, Scopes
from daemon.model.people.companies import StoredSetting
from daemon.runtime.offload import Offload
from daemon.stores.postgres.store import PostgresStore
from tests.histories import ACME, NOON, OTHER, Clock, action, append, commit
from tests.postgres import KEYS

if TYPE_CHECKING:
    from daemon.stores.store import Store
    from tests.postgres import Server

ADMIN = Principal("user-ann", ACME, "admin", "ann", "token", NOON, member_id="user-ann", kind="service")
BUDGET = BudgetRule(sum="arguments.amount", max=100, per="P1D")
REFUNDS = ActionRule(id="refunds", tool="refund*", decision="allow", budget=BUDGET)


def call(amount: Any = 1, agent: str = "bot", **said: Any) -> Call:
    return Call(**{"tool": "refund", "arguments": {"amount": amount, "of": agent}, "agent": agent,
                   "agent_id": f"key-{agent}", **said})  # fmt: skip


@asynccontextmanager
async def deciding_on(store: Store, now: Clock) -> AsyncIterator[Deciding]:
    async with evaluating(Offload()) as evaluator:
        yield await open_deciding(store, Companies(store, now), evaluator, now)


@pytest.fixture
async def deciding(store: Store, clock: Clock) -> AsyncIterator[Deciding]:
    async with deciding_on(store, clock) as one:
        yield one


async def decided(one: Deciding, run_id: str, wanted: Call) -> DecidedCall:
    found = await one.decide(ADMIN, wanted, run_id=run_id, way="penstock")
    assert isinstance(found, DecidedCall)
    return found


def numbered(count: int, **said: Any) -> list[tuple[str, Call]]:
    """Different calls, each for a run of its own."""
    return [(f"run-{one:03}", replace(call(**said), arguments={"amount": 1, "n": one})) for one in range(count)]


@pytest.mark.parametrize(
    ("terms", "context", "model"),
    [
        (KeyTerms(), {"model": "m-9"}, None),
        (KeyTerms(model="m-1"), None, "m-1"),
        (KeyTerms(model="m-1"), {"model": "m-9"}, "m-1"),
        (KeyTerms(model="m-1", models=("x-*", "m-?")), {"model": "m-9"}, "m-9"),
        (KeyTerms(models=("m-?",)), {"model": "m-10"}, None),
        (KeyTerms(models=("*",)), {"model": 9}, None),
    ],
)
async def test_which_model_calls_is_believed_of_the_key_and_of_the_call_where_the_key_lets_it(
    deciding: Deciding, terms: KeyTerms, context: Any, model: str | None
) -> None:
    await deciding.rules.put(ADMIN, [ActionRule(id="nine", tool="*", model="m-9", decision="allow")])
    agent = dataclasses.replace(ADMIN, kind="agent", terms=terms)
    wanted = call(model="m-9", context=context)
    found = await deciding.decide(agent, wanted, run_id="run-1", way="penstock")
    assert isinstance(found, DecidedCall)
    assert found.call == replace(wanted, model=model)
    assert found.decision.decision == ("allow" if model == "m-9" else "ask")


@pytest.mark.parametrize(
    ("globs", "tool", "server", "may"),
    [
        (None, "refund", "stripe", True),
        (("refund",), "refund", None, True),
        (("refund",), "refund", "stripe", False),
        (("*",), "refund", "stripe", False),
        (("ref*",), "evil", "refunds", False),
        (("stripe/*", "crm/get_*"), "refund", "stripe", True),
        (("stripe/*",), "refund", None, False),
        (("stripe/*",), "refund", "stripes", False),
        (("*/refund",), "refund", "any", True),
        ((), "refund", None, False),
    ],
)
async def test_a_key_calls_the_tools_of_its_scope_alone_before_any_rule_is_asked(
    deciding: Deciding, globs: Any, tool: str, server: str | None, may: bool
) -> None:
    await deciding.pauses.pause(ADMIN, None, "Stop.")
    agent = dataclasses.replace(ADMIN, kind="agent", terms=KeyTerms(scopes=Scopes(call=globs)))
    deciding_ = deciding.decide(agent, call(tool=tool, server=server), run_id="run-1", way="aap")
    if may:
        assert isinstance(await deciding_, Held)
        return
    with pytest.raises(OutOfScope) as refused:
        await deciding_
    assert refused.value.required == f"call:{tool if server is None else f'{server}/{tool}'}"


async def test_of_many_calls_at_once_none_passes_the_budget(deciding: Deciding) -> None:
    await deciding.rules.put(ADMIN, [REFUNDS])
    found = await asyncio.gather(*(decided(deciding, *one) for one in numbered(200)))
    said = Counter((one.decision.decision, one.decision.why, one.held) for one in found)
    assert said == {("allow", None, True): 100, ("ask", "budget", False): 100}
    again = await asyncio.gather(*(decided(deciding, *one) for one in numbered(200)))
    assert {one.decision.why for one in again} == {"budget"}
    assert {one.decision.spent for one in again} == {Spent(100, 100 * SCALE, 100 * SCALE)}


async def test_calls_at_two_daemons_do_not_pass_it_together(postgres: Server, template: str, clock: Clock) -> None:
    url = await postgres.made(template)
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(PostgresStore.open(url, KEYS, clock=clock)) for _ in range(2)]
        daemons = [await stack.enter_async_context(deciding_on(one, clock)) for one in stores]
        await stores[0]._write(ACME, _rules_of(REFUNDS))
        calls = numbered(200)
        found = await asyncio.gather(*(decided(daemons[at % 2], *one) for at, one in enumerate(calls)))
        assert sum(one.held for one in found) == 100
        assert await stores[1].budget_spent(ACME, "refunds", "bot", NOON - timedelta(days=1), now=NOON) == Spent(
            100, 100 * SCALE
        )
    await postgres.dropped(url)


def _rules_of(*rules: ActionRule) -> Any:
    """The rules written as another daemon would have, whose answer waits for nobody here."""

    async def work(db: Any) -> None:
        said = msgspec.json.encode(ActionRuleSet(rules=rules, number=1)).decode()
        row = (ACME, said, 1, "", "ann")
        await db.insert("action_rules (company_id, rules, number, updated_at, updated_by)", [row])

    return work


async def test_a_condition_that_reads_what_was_spent_is_asked_again_when_that_has_changed(deciding: Deciding) -> None:
    counts = BudgetRule(count=True, max=100, per="P1D")
    await deciding.rules.put(ADMIN, [replace(REFUNDS, when="spent.count < 5", budget=counts)])
    found = await asyncio.gather(*(decided(deciding, *one) for one in numbered(12)))
    assert sum(one.held for one in found) == 5


async def test_what_is_given_back_may_be_spent_again(deciding: Deciding) -> None:
    await deciding.rules.put(ADMIN, [REFUNDS])
    assert (await decided(deciding, "run-1", call(100))).held
    assert not (await decided(deciding, "run-2", call(99))).held
    await deciding.give_back(ACME, "run-1")
    assert (await decided(deciding, "run-3", call(98))).held


async def test_each_agent_has_its_own_budget_or_all_have_one(deciding: Deciding) -> None:
    await deciding.rules.put(ADMIN, [REFUNDS])
    assert [(await decided(deciding, f"own-{one}", call(100, one))).held for one in ("a", "b")] == [True, True]
    await deciding.rules.put(ADMIN, [replace(REFUNDS, id="all", budget=replace(BUDGET, of="rule"))])
    assert [(await decided(deciding, f"all-{one}", call(99, one))).held for one in ("a", "b")] == [True, False]


async def test_the_window_of_a_budget_rolls(deciding: Deciding, store: Store, clock: Clock) -> None:
    await deciding.rules.put(ADMIN, [REFUNDS])
    assert (await decided(deciding, "run-1", call(100))).held
    await store.append(action("run-1", agent="bot", amount=100 * SCALE))
    clock.forward(hours=23)
    assert (await decided(deciding, "run-2", call(5))).decision.why == "budget"
    clock.forward(hours=2)
    assert (await decided(deciding, "run-3", call(6))).held


@pytest.mark.parametrize("amount", [-1, "5", None, True, 0.0000001, 1e300])
async def test_an_odd_amount_asks(deciding: Deciding, amount: Any) -> None:
    await deciding.rules.put(ADMIN, [REFUNDS])
    found = (await decided(deciding, "run-1", call(amount))).decision
    assert (found.decision, found.why) == ("ask", "budget: the amount is not clear")


async def test_the_same_call_under_way_is_asked_whoever_wants_it(deciding: Deciding, store: Store) -> None:
    await deciding.rules.put(ADMIN, [REFUNDS])
    both = [replace(call(1, name), arguments={"amount": 1}) for name in ("a", "b")]
    found = await asyncio.gather(*(decided(deciding, f"run-{one.agent}", one) for one in both))
    assert sorted(one.decision.decision for one in found) == ["allow", "ask"]
    (asked,) = (one for one in found if one.doubt is not None)
    assert asked.decision.why == f"the same call is under way: {asked.doubt}"
    began = action(asked.doubt or "", fingerprint=fingerprint(both[0]))
    await store.append(began)
    await append(store, commit(began.run, RunEnded(at=NOON, status="completed", outcome="made")))
    assert (await decided(deciding, "run-c", replace(both[0], agent="c"))).decision.decision == "allow"


async def test_a_call_that_may_have_happened_is_asked_with_that_said(deciding: Deciding, store: Store) -> None:
    await deciding.rules.put(ADMIN, [REFUNDS])
    began = action("run-1", gates=("signoff",), decision="ask", fingerprint=fingerprint(call()))
    opened = began.events[-1]
    assert isinstance(opened, GateOpened)
    await store.append(commit(None, *began.events[:-1], replace(opened, in_doubt=True)))
    found = await decided(deciding, "run-2", call())
    assert (found.decision.decision, found.doubt, found.held) == ("ask", "run-1", False)
    assert found.decision.why == "the same call may have happened: run-1"


async def test_calls_that_only_read_are_made_as_often_as_they_come(deciding: Deciding) -> None:
    await deciding.rules.put(ADMIN, [ActionRule(id="reads", tool="*", decision="allow", effect="read")])
    found = [await decided(deciding, f"run-{one}", call()) for one in range(2)]
    assert [one.decision.decision for one in found] == ["allow", "allow"]
    known = await deciding.decide(ADMIN, call(), run_id="run-3", way="mcp", effect="irreversible")
    assert isinstance(known, DecidedCall)
    assert known.decision.decision == "allow"
    asked = await deciding.decide(ADMIN, call(), run_id="run-4", way="mcp", effect="irreversible")
    assert isinstance(asked, DecidedCall)
    assert asked.decision.decision == "ask"


async def test_what_is_denied_claims_and_holds_nothing(deciding: Deciding) -> None:
    await deciding.rules.put(ADMIN, [ActionRule(id="never", tool="*", decision="deny", budget=BUDGET)])
    found = [await decided(deciding, f"run-{one}", call()) for one in range(2)]
    assert [(one.decision.decision, one.held, one.doubt) for one in found] == [("deny", False, None)] * 2


async def test_a_company_that_clears_nothing_is_asked(deciding: Deciding) -> None:
    await deciding.rules.put(ADMIN, [REFUNDS])
    deciding._companies.apply_autonomies([StoredSetting(ACME, CompanyAutonomy(auto_resolve=False), 1)])
    found = await decided(deciding, "run-1", call())
    assert (found.decision.decision, found.decision.why) == ("ask", "autonomy is off")


async def test_agents_that_are_stopped_get_no_decision(deciding: Deciding, store: Store, clock: Clock) -> None:
    heard: list[str] = []
    deciding.pauses.subscribe(heard.append)
    await deciding.pauses.pause(ADMIN, "bot", "It refunds twice.")
    assert heard == [ACME]
    found = await deciding.decide(ADMIN, call(), run_id="run-1", way="aap")
    assert isinstance(found, Held)
    assert (found.pause.reason, found.pause.by) == ("It refunds twice.", "ann")
    await decided(deciding, "run-2", call(agent="other"))
    async with deciding_on(store, clock) as later:  # as after a restart
        assert later.pauses.why(ACME, "bot") == found.pause
        assert later.pauses.why(OTHER, "bot") is None
    await deciding.pauses.lift(ADMIN, "bot")
    await decided(deciding, "run-3", call())


async def test_a_daemon_that_is_told_again_of_a_pause_which_another_one_stored_knows_it(
    deciding: Deciding, store: Store, clock: Clock
) -> None:
    async with deciding_on(store, clock) as other:
        await deciding.pauses.pause(ADMIN, "bot", "It refunds twice.")
        assert other.pauses.why(ACME, "bot") is None, "it has not heard of it yet"
        await other.pauses.pause(ADMIN, "bot", "It refunds twice.")
        assert other.pauses.why(ACME, "bot") == deciding.pauses.why(ACME, "bot")


async def test_rules_that_are_refused_are_not_stored(deciding: Deciding) -> None:
    with pytest.raises(RulesRefused) as refused:
        await deciding.rules.put(ADMIN, [replace(REFUNDS, when="arguments.amount <")])
    assert [where for where, _ in refused.value.wrong] == ["/rules/0/when"]
    assert (await deciding.rules.current(ACME)).rules == ()

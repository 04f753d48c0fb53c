"""Decides about a call that an agent wants to make, and holds what it takes of a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from actors.core.actions.deciding import (
    ActionRule,
    BudgetRule,
    Call,
    RuleDecision,
    Spent,
    Way,
    decide,
    fingerprint,
    scaled,
)
from actors.core.canonical import json_size
from actors.core.schedule import duration
from actors.core.template import ToolEffect
from actors.ports import Asker
from daemon.actions.pauses import Pauses
from daemon.actions.rules import RuleBook
from daemon.evaluation.evaluator import Evaluator
from daemon.identity.company.companies import Companies
from daemon.identity.tokens import Principal
from daemon.model.actions import ActionJoin, BudgetHold
from daemon.model.events.company import ActionRuleSet, Pause
from daemon.stores.store import Store
from daemon.templates.agents.action_rules import rule_holds

TRIES_MAX = 8
"""So often a call is decided anew because others spend of the same budget meanwhile."""
ANYBODY = ""
BUDGET = "budget"


class DecidedCall(NamedTuple):
    """What is decided about a call; `doubt` is the action by which the same may have happened."""

    call: Call
    decision: RuleDecision
    way: Way
    fingerprint: str
    held: bool = False
    doubt: str | None = None
    run_id: str = ""
    """The action that it is to be, which a repeat of the same request may have begun."""


class Held(NamedTuple):
    """The agent is stopped, and nothing was decided."""

    pause: Pause


class Deciding:
    """Asks the rules of a company; of the calls that come at once none passes a budget."""

    def __init__(
        self,
        store: Store,
        rules: RuleBook,
        pauses: Pauses,
        companies: Companies,
        evaluator: Evaluator,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._store, self._companies, self._evaluator, self._now = store, companies, evaluator, now
        self.rules, self.pauses = rules, pauses

    async def decide(
        self,
        principal: Principal,
        call: Call,
        *,
        run_id: str,
        way: Way,
        effect: ToolEffect | None = None,
        request: str = "",
    ) -> DecidedCall | Held:
        """Decide about a call that is to be the action `run_id`, and hold its part of a budget.

        With an `effect` that is what is known of the tool, in place of what the rule says. Which
        model calls is as the key says it. Repeats of one `request` are not the same call once more.
        OutOfScope where the key may not call the tool.
        """
        company_id = principal.company_id
        principal.check_call(call.tool, call.server)
        call = replace(call, model=principal.model(call.context))
        if (pause := self.pauses.why(company_id, call.agent)) is not None:
            return Held(pause)
        print_ = fingerprint(call)
        first = await self.tried(company_id, call)
        if first.decision != "deny" and (effect or first.rule.effect) != "read":
            join = ActionJoin(company_id, ANYBODY, print_, run_id, self._now(), request)
            found, why = await self._doubt(join)
            if why is not None:
                asked = replace(first, decision="ask", why=f"{why}: {found}")
                return DecidedCall(call, asked, way, print_, doubt=found, run_id=run_id)
            run_id = found
        decision, held = await self._hold(company_id, call, run_id, first)
        return DecidedCall(call, decision, way, print_, held, run_id=run_id)

    async def tried(self, company_id: str, call: Call) -> RuleDecision:
        """What the rules say of a call now; nothing is counted or held."""
        return await self._asked(company_id, call, {})

    async def give_back(self, company_id: str, run_id: str) -> None:
        """Give back what is held for an action that does not begin."""
        await self._store.give_back(company_id, run_id)

    async def _asked(self, company_id: str, call: Call, spent: dict[str, Spent]) -> RuleDecision:
        rules = await self.rules.current(company_id)
        autonomous = not self._companies.clears_nothing(company_id)
        asker, size = Asker(company_id), json_size(call.arguments)
        while True:
            work = partial(_decided, rules, call, spent, autonomous=autonomous)
            found = await self._evaluator.evaluated(asker, size, work)
            if isinstance(found, RuleDecision):
                return found
            spent[found.id] = await self._spent(company_id, call, found.id, _budget(found))

    async def _spent(self, company_id: str, call: Call, rule_id: str, budget: BudgetRule) -> Spent:
        now = self._now()
        since = now - duration(budget.per).exact
        return await self._store.budget_spent(company_id, rule_id, budget.scope(call), since, now=now)

    async def _doubt(self, join: ActionJoin) -> tuple[str, str | None]:
        """The action by which the same call may have happened or is under way, and what to say.

        Where there is none, the one that this call is to be.
        """
        found = await self._store.claim_call(join)
        if found.doubtful:
            return found.run_id, "the same call may have happened"
        return found.run_id, None if found.own else "the same call is under way"

    async def _hold(self, company_id: str, call: Call, run_id: str, first: RuleDecision) -> tuple[RuleDecision, bool]:
        """The decision with the hold that it needs; to ask where the budget does not do."""
        decision = first
        for _ in range(TRIES_MAX):
            rule, amount, spent = decision.rule, decision.amount, decision.spent
            if decision.decision != "allow" or rule.budget is None or amount is None or spent is None:
                return decision, False
            now, most = self._now(), scaled(rule.budget.max) or 0
            hold = BudgetHold(company_id, rule.id, rule.budget.scope(call), run_id, amount, now)
            expected = None if rule.when is None or "spent" not in rule.when else spent
            since = now - duration(rule.budget.per).exact
            outcome = await self._store.hold_budget(hold, since, most, expected)
            if outcome.held:
                return replace(decision, spent=_of(outcome.spent, most)), True
            if outcome.spent.sum + amount > most:
                return _over(replace(decision, spent=outcome.spent)), False
            decision = await self._asked(company_id, call, {})
        return _over(decision), False


async def open_deciding(
    store: Store, companies: Companies, evaluator: Evaluator, now: Callable[[], datetime]
) -> Deciding:
    pauses = Pauses(store, now, companies)
    await pauses.open()
    rules = RuleBook(store, now, companies, evaluator)
    return Deciding(store, rules, pauses, companies, evaluator, now=now)


def _over(decision: RuleDecision) -> RuleDecision:
    return replace(decision, decision="ask", why=BUDGET)


def _of(spent: Spent, most: int) -> Spent:
    return Spent(spent.count, spent.sum, most)


def _budget(rule: ActionRule) -> BudgetRule:
    assert rule.budget is not None  # noqa: S101 - what was spent is asked of rules with a budget
    return rule.budget


class _Unread(Exception):
    """What was spent of the budget of a rule has to be read first."""

    def __init__(self, rule: ActionRule) -> None:
        super().__init__(rule.id)
        self.rule = rule


def _decided(
    rules: ActionRuleSet, call: Call, spent: Mapping[str, Spent], *, autonomous: bool
) -> RuleDecision | ActionRule:
    """The decision, or the rule of which has to be known first what was spent."""

    def of(rule: ActionRule) -> Spent:
        if rule.id not in spent:
            raise _Unread(rule)
        return _of(spent[rule.id], scaled(_budget(rule).max) or 0)

    try:
        return decide(rules.rules, call, of, rule_holds, autonomous=autonomous)
    except _Unread as unread:
        return unread.rule

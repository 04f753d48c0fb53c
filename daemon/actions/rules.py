"""The rules of companies for calls of agents: read, changed, and in memory to decide by."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from msgspec import structs

from actors.core.actions.deciding import (
    UNRULED,
    UNRULED_ID,
    ActionFacts,
    ActionRule,
    Call,
    Spent,
    decide,
    rule_digest,
)
from actors.core.run import Run
from actors.core.template import ConditionFailed
from actors.ports import Asker
from daemon.evaluation.evaluator import Evaluator
from daemon.identity.company.companies import COMPANIES_MAX, Companies
from daemon.identity.company.settings import SettingService
from daemon.identity.tokens import Principal
from daemon.model.events.company import ActionRuleSet
from daemon.model.people.changes import ChangeDecision, ChangeStale
from daemon.model.people.companies import ACTION_RULES
from daemon.stores.store import Store
from daemon.templates.agents.action_rules import Wrong, rule_holds, wrong_rules


class RulesRefused(Exception):
    """Rules that are not to be stored: what is wrong, by pointer."""

    def __init__(self, wrong: Sequence[Wrong]) -> None:
        super().__init__(f"{len(wrong)} faults")
        self.wrong = wrong


class RulesChanged(Exception):
    """The rules are others than those that were seen."""

    def __init__(self, number: int) -> None:
        super().__init__(f"the rules were changed for the {number}th time")
        self.number = number


class RuleBook(SettingService[ActionRuleSet]):
    """Reads and changes the rules; a change counts on every daemon when it returns."""

    kind = ACTION_RULES

    def __init__(
        self, repository: Store, now: Callable[[], datetime], companies: Companies, evaluator: Evaluator
    ) -> None:
        super().__init__(repository, now, companies)
        self._evaluator = evaluator
        self._known: OrderedDict[str, ActionRuleSet] = OrderedDict()
        self._reading: dict[str, object] = {}
        companies.subscribe(self._forget)

    async def current(self, company_id: str) -> ActionRuleSet:
        """The rules as they stand; from memory until anything of the company is changed."""
        while (known := self._known.get(company_id)) is None:
            reading = self._reading.setdefault(company_id, object())
            found = await self.for_company(company_id)
            if self._reading.get(company_id) is reading:  # else they may have been changed behind the read
                del self._reading[company_id]
                self._known[company_id] = found
                if len(self._known) > COMPANIES_MAX:
                    self._known.popitem(last=False)
        self._known.move_to_end(company_id)
        return known

    async def put(
        self, principal: Principal, rules: Sequence[ActionRule], seen: frozenset[int] | None = None
    ) -> ActionRuleSet:
        """Replace the rules, where they are among those `seen`; RulesChanged or RulesRefused."""
        asker, work = Asker(principal.company_id), partial(wrong_rules, tuple(rules))
        try:
            wrong = await self._evaluator.evaluated(asker, len(rules), work)
        except ConditionFailed as failed:
            raise RulesRefused([("/rules", str(failed))]) from None
        if wrong:
            raise RulesRefused(wrong)

        def check(_before: ActionRuleSet, _after: ActionRuleSet, number: int) -> None:
            if seen is not None and number not in seen:
                raise RulesChanged(number)

        if seen is not None:  # what changes nothing is refused as well
            check(found := await self.for_company(principal.company_id), found, found.number)
        return await self.change(principal, {"rules": tuple(rules)}, check)

    async def accept(self, decision: ChangeDecision, rule: ProposedRule) -> None:
        """Add a rule that an admin accepts; ChangeStale where the rules are others by now."""
        found = await self.for_company(decision.change.company_id)
        if found.number != decision.change.stands_on:
            raise ChangeStale
        after = self.merged(found, {"rules": rule.among(found.rules)})
        await self.approve(decision, after, decision.logged.caller)

    def merged(self, before: ActionRuleSet, changes: Mapping[str, Any]) -> ActionRuleSet:
        """The rules after a change: those that say the same as before keep their version."""
        known = {one.id: one for one in before.rules}
        number = before.number + 1
        rules = tuple(_numbered(one, known.get(one.id), number) for one in changes["rules"])
        return before if rules == before.rules else ActionRuleSet(rules=rules, number=number)

    def _forget(self, company_id: str) -> None:
        self._known.pop(company_id, None)
        self._reading.pop(company_id, None)


def _numbered(rule: ActionRule, before: ActionRule | None, number: int) -> ActionRule:
    digest = rule_digest(rule)
    same = before is not None and before.digest == digest
    return structs.replace(rule, digest=digest, version=before.version if before is not None and same else number)


RULES_MAX = 500
SLUG_CHARS_MAX = 48
_NO_NAME = re.compile(r"[^a-z0-9]+")
_GLOB = re.compile(r"[*?]")


class NotProposable(Exception):
    """No narrow rule would let such a call through; the argument says why."""


class ProposedRule(NamedTuple):
    """A rule that is proposed, and its place among those that stand."""

    rule: ActionRule
    place: int

    def among(self, rules: Sequence[ActionRule]) -> tuple[ActionRule, ...]:
        """The rules with this one."""
        return (*rules[: self.place], self.rule, *rules[self.place :])


def proposed(found: ActionRuleSet, facts: ActionFacts) -> ProposedRule:
    """The rule that allows calls of this tool, server, agent and model where the other one asks.

    It stands right before that one and has its condition, so that what is denied stays so.
    """
    place, asking = _asking(found.rules, facts)
    names = (facts.tool, facts.server, facts.agent, facts.model)
    if any(_GLOB.search(name or "") for name in names):
        raise NotProposable("Tool, server, agent or model has a sign in its name that stands for others.")
    if len(found.rules) >= RULES_MAX:
        raise NotProposable(f"The company has {RULES_MAX} rules, which is all it may have.")
    rule = ActionRule(
        id=_name(facts.tool, {one.id for one in found.rules}),
        tool=facts.tool,
        server=facts.server or "",
        agent=facts.agent,
        model=facts.model or "",
        when=asking.when,
        decision="allow",
        effect=asking.effect,
        budget=asking.budget,
        expires=asking.expires,
    )
    return ProposedRule(rule, place)


def _asking(rules: Sequence[ActionRule], facts: ActionFacts) -> tuple[int, ActionRule]:
    """The rule by whose own word a person was asked, and its place."""
    if facts.rule.id == UNRULED_ID and facts.decision == "ask":
        return len(rules), UNRULED
    here = next((place for place, one in enumerate(rules) if one.id == facts.rule.id), None)
    if here is None or rules[here].version != facts.rule.version:
        raise NotProposable(f"The rule {facts.rule.id} is not the one any more that decided.")
    if rules[here].decision != "ask":
        raise NotProposable("The rule that decided does not ask by itself.")
    return here, rules[here]


def _name(tool: str, taken: set[str]) -> str:
    slug = f"always-{_NO_NAME.sub('-', tool.lower()).strip('-')[:SLUG_CHARS_MAX]}".rstrip("-")
    names = (slug, *(f"{slug}-{number}" for number in range(2, RULES_MAX + 2)))
    return next(one for one in names if one not in taken)


def let_through(rules: Sequence[ActionRule], rule: ActionRule, runs: Sequence[Run]) -> list[bool]:
    """Which of these actions a rule would allow among the others, with nothing spent of budgets."""
    return [_is_let_through(rules, rule, one) for one in runs]


def _is_let_through(rules: Sequence[ActionRule], rule: ActionRule, run: Run) -> bool:
    facts = run.action
    if facts is None:
        return False
    about = {name: getattr(facts, name) for name in Call.__struct_fields__ if name != "arguments"}
    call = Call(**about, arguments=run.inputs if facts.asked is None else facts.asked)
    found = decide(rules, call, lambda _: Spent(), rule_holds)
    return (found.rule.id, found.decision) == (rule.id, "allow")

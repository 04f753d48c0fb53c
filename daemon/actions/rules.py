"""The rules of companies for calls of agents: read, changed, and in memory to decide by."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import structs

from actors.core.actions.deciding import ActionRule, rule_digest
from actors.ports import Asker
from daemon.actions.proposals import ProposedRule
from daemon.evaluation.evaluator import Evaluator
from daemon.identity.company.companies import COMPANIES_MAX, Companies
from daemon.identity.company.settings import SettingService
from daemon.identity.tokens import Principal
from daemon.model.events.company import ActionRuleSet
from daemon.model.people.changes import ChangeDecision, ChangeStale
from daemon.model.people.companies import ACTION_RULES
from daemon.stores.store import Store
from daemon.templates.agents.action_rules import Wrong, wrong_rules


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
        wrong = await self._evaluator.evaluated(
            Asker(principal.company_id), len(rules), partial(wrong_rules, tuple(rules))
        )
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

"""Rules that would always allow a call such as one that a person was asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from actors.core.actions.deciding import (
    UNRULED,
    UNRULED_ID,
    ActionFacts,
    ActionRule,
    Call,
    Spent,
    decide,
)
from actors.core.run import Run
from daemon.model.events.company import ActionRuleSet
from daemon.templates.agents.action_rules import rule_holds

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

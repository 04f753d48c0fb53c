"""Rules for calls of agents: their conditions, faults, and the documents of their actions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import msgspec
from pydantic import ValidationError

from actors.core.actions.deciding import SCALE, UNRULED_ID, ActionRule, BudgetRule, Call, Spent, scaled
from actors.core.schedule import duration
from daemon.templates.answers import NEVER, answered
from daemon.templates.cel import action_holds, check_action_condition
from daemon.templates.documents import ACTION_VERTICAL, Document
from daemon.templates.loading import check
from daemon.templates.nodes import HANDED

Wrong = tuple[str, str]
"""The pointer of what is wrong, and why."""
LITTLE_MAX = 16
"""So many rules without conditions and policies are looked at within 20 ms."""
LIGHT_WEIGHT = 10_000
CHECKED_AT_ONCE = 25
_SPENT = re.compile(r"\bspent\b")
_TEXT = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_PLACEHOLDER = ("{arguments.", "{inputs.")
"""How a question of a rule names arguments, which are the inputs of the action's run."""
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)+")
_PATH = re.compile(r"(?:arguments|context)(?:\.[A-Za-z_]\w*)+")


def rule_holds(rule: ActionRule, call: Call, spent: Spent | None) -> bool:
    """Whether the condition of a rule holds; ConditionFailed without a clear yes or no."""
    data = {
        "arguments": call.arguments,
        "context": call.context or {},
        "agent": call.agent,
        "model": call.model or "",
        "spent": {} if spent is None else {"count": spent.count, "sum": amount_of(spent.sum)},
    }
    return action_holds(rule.when or "true", data)


def amount_of(millionths: int) -> int | float:
    """An amount as people write it."""
    whole, rest = divmod(millionths, SCALE)
    return millionths / SCALE if rest else whole


def action_document(rule: ActionRule, tool: str) -> dict[str, Any]:
    """The document of actions of a rule for a tool: one step, whose id is that of the rule."""
    low = rule.decision == "allow"
    step = {
        "id": rule.id,
        "kind": "task",
        "label": tool.removeprefix(HANDED),
        "tool": tool,
        "effect": rule.effect,
        "tier": "low" if low else rule.tier or "high",
        "role": "manager",
        **({} if rule.question is None or low else {"question": rule.question.replace(*_PLACEHOLDER)}),
        **({} if low else {name: one for name, one in (rule.gate or {}).items() if one is not None}),
        "branches": [{"to": "made"}, {"to": "denied", "branch": "denied"}],
    }
    # The agent that asks recommends the call: what people decide says how far that is right.
    judges = [{"id": "agent", "label": "The agent", "steps": [rule.id], "rule": "true"}]
    earns = {"judges": judges} if step["tier"] == "medium" else {}
    ends = [{"id": one, "kind": "end", "label": one.capitalize(), "outcome": one} for one in ("made", "denied")]
    return {
        "vertical": ACTION_VERTICAL,
        "version": max(rule.version, 1),
        "title": "Action",
        "description": "A call that an agent wants to make.",
        "inputs_schema": {"type": "object"},
        "example": {},
        "steps": [step, *ends],
        **earns,
    }


def wrong_rules(rules: Sequence[ActionRule]) -> list[Wrong]:
    """What is wrong with rules, found by a process, some at a time, where they say much."""
    little = len(rules) <= LITTLE_MAX and all(one.when is None and one.gate is None for one in rules)
    limit = LIGHT_WEIGHT if little else NEVER
    names = [one.id for one in rules]
    found = [(place, *wrong) for place, rule in enumerate(rules) for wrong in _wrong_id(rule, names[:place])]
    for first in range(0, len(rules), CHECKED_AT_ONCE):
        said = msgspec.to_builtins(list(rules[first : first + CHECKED_AT_ONCE]))
        wrong = answered("action_rules", None, said, partial(wrong_rules_here, said), limit)
        found += [(first + place, where, why) for place, where, why in wrong]
    return [(f"/rules/{place}{where}", why) for place, where, why in sorted(found, key=itemgetter(0))]


def wrong_rules_here(said: list[Any]) -> list[tuple[int, str, str]]:
    """What is wrong with each by itself, found here, whatever it costs; with its place."""
    rules = enumerate(msgspec.convert(said, list[ActionRule]))
    return [(place, *wrong) for place, rule in rules for wrong in _wrong(rule)]


def _wrong_id(rule: ActionRule, before: list[str]) -> Iterator[Wrong]:
    if rule.id == UNRULED_ID:
        yield "/id", "is the rule of what no rule fits"
    elif rule.id in before:
        yield "/id", "is the id of another rule, too"


def _wrong(rule: ActionRule) -> Iterator[Wrong]:
    if rule.when is not None:
        try:
            check_action_condition(rule.when)
        except ValueError as refused:
            yield "/when", str(refused)
        if rule.budget is None and _SPENT.search(_TEXT.sub('""', rule.when)):
            yield "/when", "reads spent, and the rule has no budget"
    if rule.budget is not None:
        yield from _wrong_budget(rule.budget)
    if rule.expires is not None and (why := _no_time(rule.expires)) is not None:
        yield "/expires", why
    for place, pointer in enumerate(rule.editable):
        if not _POINTER.fullmatch(pointer):
            yield f"/gate/editable/{place}", "has to be a JSON pointer below the arguments, such as /amount"
    yield from _wrong_document(rule)


def _wrong_budget(budget: BudgetRule) -> Iterator[Wrong]:
    if budget.count == (budget.sum is not None):
        yield "/budget", "has to have count or sum, and not both"
    if budget.sum is not None and not _PATH.fullmatch(budget.sum):
        yield "/budget/sum", "has to be the path of a number, such as arguments.amount"
    if scaled(budget.max) is None:
        yield "/budget/max", "has to be from 0 to 10,000,000,000, with six digits behind the point at most"
    if (why := _no_time(budget.per)) is not None:
        yield "/budget/per", why


def _no_time(text: str) -> str | None:
    """Why a text is no duration of a fixed length."""
    try:
        found = duration(text)
    except ValueError as refused:
        return str(refused)
    return "has to be a fixed time such as P1D or PT10M" if found.business_days or found.months else None


def _wrong_document(rule: ActionRule) -> Iterator[Wrong]:
    """What the rules of templates say of the question that a rule asks."""
    try:
        _, violations = check(Document.model_validate(action_document(rule, "tool")), consents=True)
    except ValidationError as refused:
        for one in refused.errors(include_url=False, include_input=False, include_context=False)[:1]:
            yield f"/gate{_below(one['loc'])}", one["msg"]
        return
    for found in violations:
        where = "/question" if found.rule == "question_refused" else "/gate"
        yield where, found.detail.replace("{inputs.…}", "{arguments.…}")


def _below(loc: tuple[int | str, ...]) -> str:
    """The pointer below the gate of what stands at a place of the document's step."""
    names = loc[2:] if loc[:2] == ("steps", 0) else ()
    return "".join(f"/{name}" for name in names)

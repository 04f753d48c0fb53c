"""Faults that are planted into what the checker reads: it has to find each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.swarm.checker import Case, cases, faults
from tests.swarm.law import READS, SUM_MAX
from tests.swarm.notes import Json, Notes, Span

Plant = Callable[[Notes], Notes]
FAR_S = 1_000.0


def _first(notes: Notes, fits: Callable[[Case], Any]) -> Case:
    """The first action that is so."""
    return next(case for case in cases(notes) if fits(case))


def _made(case: Case) -> bool:
    return bool(case.arrivals) and case.tool not in READS


def _with_case(notes: Notes, case: Case, *, shown: Json | None = None, events: list[Json] | None = None) -> Notes:
    return replace(
        notes,
        actions={**notes.actions, case.id: {**case.shown, **(shown or {})}},
        events={**notes.events, case.id: events or case.events},
    )


def _with_arrival(notes: Notes, case: Case, **changes: Any) -> Notes:
    way = case.facts["way"]
    said = {"at": 0.0, "way": way, "tool": case.tool, "arguments": case.asked, "run": case.id, "key": ""}
    return replace(notes, arrivals=[*notes.arrivals, {**said, **changes}])


def call_twice(notes: Notes) -> Notes:
    return replace(notes, arrivals=[*notes.arrivals, _first(notes, _made).arrivals[0]])


def call_of_no_action(notes: Notes) -> Notes:
    return replace(notes, arrivals=[*notes.arrivals, {**notes.arrivals[0], "run": "of nobody"}])


def call_without_consent(notes: Notes) -> Notes:
    case = _first(notes, lambda one: one.shown["outcome"] == "denied" and not one.arrivals)
    return _with_arrival(notes, case)


def call_with_other_arguments(notes: Notes) -> Notes:
    one = _first(notes, lambda case: _made(case) and case.approvals).arrivals[0]
    others = [other for other in notes.arrivals if other is not one]
    return replace(notes, arrivals=[*others, {**one, "arguments": {**one["arguments"], "amount": 10**6}}])


def approval_of_nobody(notes: Notes) -> Notes:
    case = _first(notes, lambda one: one.approvals)
    return replace(notes, verdicts=[one for one in notes.verdicts if one.run != case.id])


def decision_without_a_rule(notes: Notes) -> Notes:
    case = _first(notes, lambda one: one.tool == "odd")
    rule = {"id": "pay", "version": 1, "digest": ""}
    first = {**case.events[0], "action": {**case.facts, "decision": "allow", "rule": rule}}
    return _with_case(notes, case, events=[first, *case.events[1:]])


def call_after_its_rule(notes: Notes) -> Notes:
    case = _first(notes, lambda one: _made(one) and one.allowed and one.facts["way"] == "penstock")
    rule, [arrival, *_] = case.facts["rule"]["id"], case.arrivals
    others = [other for other in notes.arrivals if other is not arrival]
    last = notes.turns[-1]
    later = Span(None, last.turn + 1, {**last.versions, rule: 10**6}, arrival["at"] + 1, arrival["at"] + 1)
    return replace(notes, turns=[*notes.turns, later], arrivals=[*others, {**arrival, "at": arrival["at"] + FAR_S}])


def _paused(notes: Notes, agent: str, at: float) -> Notes:
    return replace(notes, pauses=[*notes.pauses, Span(agent, 0, {}, at - FAR_S, at - FAR_S, at + FAR_S)])


def begun_while_paused(notes: Notes) -> Notes:
    one = next(one for one in notes.intents.values() if one.told and one.way == "penstock")
    return _paused(notes, one.agent, one.sent)


def used_while_paused(notes: Notes) -> Notes:
    use = next(one for one in notes.uses if one.status == 200)
    return _paused(notes, str(notes.actions[use.run]["agent"]), use.sent)


def call_while_paused(notes: Notes) -> Notes:
    case = _first(notes, lambda one: _made(one) and one.facts["way"] == "mcp")
    return _paused(notes, case.facts["agent"], case.arrivals[0]["at"])


def budget_passed(notes: Notes) -> Notes:
    case = _first(notes, lambda one: one.facts["rule"]["id"] == "sum" and one.allowed and one.arrivals)
    first = {**case.events[0], "inputs": {**case.asked, "amount": SUM_MAX + 1}}
    return _with_case(notes, case, events=[first, *case.events[1:]])


def action_lost(notes: Notes) -> Notes:
    run = next(one.told[0][2] for one in notes.intents.values() if one.told and one.way == "penstock")
    return replace(notes, actions={key: one for key, one in notes.actions.items() if key != run})


def key_of_two_actions(notes: Notes) -> Notes:
    first, second, *_ = (one for one in notes.intents.values() if one.told and one.way == "aap")
    both = replace(first, told=[*first.told, *second.told])
    return replace(notes, intents={**notes.intents, first.n: both})


def state_not_explained(notes: Notes) -> Notes:
    return _with_case(notes, _first(notes, _made), shown={"outcome": "denied"})


def made_of_nothing(notes: Notes) -> Notes:
    case = _first(notes, lambda one: _made(one) and one.shown["outcome"] == "made" and not one.of("verdict_given"))
    return replace(notes, arrivals=[one for one in notes.arrivals if one["run"] != case.id])


def approval_used_twice(notes: Notes) -> Notes:
    use = next(one for one in notes.uses if one.status == 200)
    return replace(notes, uses=[*notes.uses, use._replace(key="another")])


def use_lost(notes: Notes) -> Notes:
    case = _first(notes, lambda one: one.of("call_consumed"))
    return _with_case(notes, case, events=[one for one in case.events if one["type"] != "call_consumed"])


def doubt_not_listed(notes: Notes) -> Notes:
    return replace(notes, doubtful=notes.doubtful - {next(iter(notes.doubtful))})


def listed_without_doubt(notes: Notes) -> Notes:
    return replace(notes, doubtful={*notes.doubtful, _first(notes, _made).id})


def same_call_beside(notes: Notes) -> Notes:
    case = _first(notes, lambda one: _made(one) and one.allowed)
    twin = {**case.shown, "id": "twin"}
    return replace(notes, actions={**notes.actions, "twin": twin}, events={**notes.events, "twin": case.events})


_NAMED: tuple[Plant, ...] = (
    call_twice,
    call_of_no_action,
    call_without_consent,
    call_with_other_arguments,
    approval_of_nobody,
    decision_without_a_rule,
    call_after_its_rule,
    begun_while_paused,
    used_while_paused,
    call_while_paused,
    budget_passed,
    action_lost,
    key_of_two_actions,
    state_not_explained,
    approval_used_twice,
    use_lost,
    doubt_not_listed,
    listed_without_doubt,
    same_call_beside,
)
PLANTS: dict[Plant, str] = {one: one.__name__.replace("_", " ") for one in _NAMED}
PLANTS[made_of_nothing] = "state not explained"
"""What is planted, and as what it has to be found."""


def missed(notes: Notes, *, few: bool = False) -> list[str]:
    """The planted faults that the checker does not find.

    With a `few` actions there may be none in which a fault can be planted.
    """
    before = {kind: len(where) for kind, where in faults(notes).items()}
    found = []
    for plant, kind in PLANTS.items():
        try:
            seen = len(faults(plant(notes)).get(kind, ()))
        except StopIteration:
            seen = len(notes.actions) if few else 0
        if seen <= before.get(kind, 0):
            found.append(plant.__name__)
    return found

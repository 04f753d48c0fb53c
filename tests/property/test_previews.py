"""A preview against what happens: all that ran was announced, and all that was certain ran."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.core.calls import Connector
from actors.core.decider import TurnResult
from actors.core.messages import CallEffect, CallSettled, Effect, StepCleared, VerdictGiven, WaitBegan, WaitEnded, Wake
from actors.core.preview import Preview, previews
from actors.core.template import Template
from tests.conversations import Conversation
from tests.processes import connector
from tests.property.templates import TOOLS, templates

DECISIONS_MAX = 12
ANSWERS: tuple[Any, ...] = ({"match": "none"}, {"match": "exact"}, {"is": "clean"})
LATER = timedelta(hours=3)
RAN = (StepCleared, CallSettled, WaitBegan, WaitEnded)
TALLY: Counter[str] = Counter()


def follow(talk: Conversation, chance: random.Random) -> set[str]:
    """Answer all calls and end all waits until only people can go on; the steps that ran."""
    ran: set[str] = set()
    while isinstance(talk.last, TurnResult):
        ran |= {event.step_id for event in talk.last.events if isinstance(event, RAN)}
        if talk.last.effects:
            answer(talk, chance.choice(talk.last.effects), chance)
        elif not (waits := [one.wait for one in talk.run.open if one.wait is not None]):
            return ran
        elif waits[0].message is not None and chance.random() < 0.5:
            talk.deliver(waits[0].message)
        else:
            talk.due(LATER)
    return ran


def answer(talk: Conversation, one: Effect, chance: random.Random) -> None:
    """Perform what a run wants done, mostly with success."""
    if isinstance(one, Wake):
        talk.elapsed(one.step_id, one.visit)
    elif chance.random() < 0.8:
        talk.returned(one.step_id, one.visit, chance.choice(ANSWERS))
    else:
        talk.failed(one.step_id, one.visit)


def check(found: Preview, own: str, ran: set[str], certain_ran: set[str]) -> None:
    announced = {one.node.id for one in found.steps}
    certain = {one.node.id for one in found.steps if one.certain}
    assert ran - {own} <= announced, (ran, announced)
    assert certain <= certain_ran | ran, (certain, ran)
    TALLY.update(steps=len(ran), certain=len(certain), walks=1)


def walk(template: Template, connectors: dict[str, Connector], seed: int, auto: bool) -> None:
    """Decide at gate after gate, and compare each decision with its preview."""
    chance = random.Random(seed)
    talk = Conversation(template, connectors).start({"amount": 5}, auto=auto)
    follow(talk, chance)
    for _ in range(DECISIONS_MAX):
        if not talk.run.parked:
            return
        visit = chance.choice(talk.run.parked)
        found = chance.choice(previews(talk.run, visit, template, connectors))
        done = talk.resume(visit.step_id, found.decision)
        if not isinstance(done, TurnResult) or done.rejected is not None:
            return
        began = {one.step_id for one in done.effects if isinstance(one, CallEffect)}
        assert any(isinstance(event, VerdictGiven) for event in done.events)
        check(found, visit.step_id, follow(talk, chance), began)


walks = given(
    template=templates(waits=True),
    connectors=st.dictionaries(st.sampled_from(TOOLS), st.booleans()).map(
        lambda live: {tool: connector(tool, reversible=reversible) for tool, reversible in live.items()}
    ),
    seed=st.integers(0, 2**32),
    auto=st.sampled_from((True, True, True, False)),
)


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@walks
def test_what_ran_was_announced_and_what_was_certain_ran(
    template: Template, connectors: dict[str, Connector], seed: int, auto: bool
) -> None:
    walk(template, connectors, seed, auto)

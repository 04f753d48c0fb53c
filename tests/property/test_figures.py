"""Whatever happens to a run, its turns are counted without a fault, and as its history says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest

from actors.core.decider import TurnResult
from actors.core.folding.gates import visit_of
from actors.core.messages import OUTCOME_UNKNOWN_CODE, CallSettled, Event, GateOpened, Message, VerdictGiven
from actors.core.template import Template
from daemon.observability.metrics import Metrics
from tests.property.templates import templates
from tests.property.test_conversations import STEPS_MAX, Say, Talk, bindings, bound, do, sayings
from tests.web.figures import read


@dataclass
class Counted(Talk):
    """A conversation whose turns are counted."""

    metrics: Metrics = field(default_factory=lambda: Metrics("1"))
    turns: int = 0
    settled: Counter[tuple[str, str]] = field(default_factory=Counter)

    def say(self, message: Message, onto: Template | None = None) -> Any:
        done = super().say(message, onto)
        if isinstance(done, TurnResult) and done.events:
            self.turns += 1
            self.metrics.committed(done.run, done.events)
            self.settled.update(calls_settled(done))
        return done


def calls_settled(done: TurnResult) -> Iterator[tuple[str, str]]:
    """The mode and the outcome of each call that a turn has settled, as its visit has them after
    the turn.

    What a human says came of a call was counted when nobody knew.
    """
    for event in done.events:
        if isinstance(event, CallSettled):
            visit = visit_of(done.run, event)
            said = visit.verdict is not None and visit.verdict.decision == "done"
            if visit.request is not None and not said:
                code = None if visit.error is None else visit.error.code
                outcome = {None: "succeeded", OUTCOME_UNKNOWN_CODE: "unknown"}.get(code, "failed")
                yield visit.request.mode, outcome


def waits_s(history: list[Event]) -> list[float]:
    """How long each gate that was decided had been open."""
    opened: dict[tuple[str, int], Any] = {}
    waited: list[float] = []
    for event in history:
        if isinstance(event, GateOpened):
            opened.setdefault((event.step_id, event.visit), event.at)
        elif isinstance(event, VerdictGiven):
            waited.append((event.at - opened[event.step_id, event.visit]).total_seconds())
    return waited


@settings(max_examples=100)
@given(templates(), st.booleans(), bindings, st.lists(sayings, max_size=30))
def test_the_figures_say_what_the_history_says(
    template: Template, auto: bool, bind: dict[str, int], said: list[Say]
) -> None:
    connectors = {tool: bound(tool, 1, how) for tool, how in bind.items()}
    talk = Counted(template, connectors, STEPS_MAX, checked=False)
    talk.start({"amount": 12}, auto=auto)
    for say in said:
        do(talk, say)
    seen, waited = read(generate_latest(talk.metrics._registry).decode()), waits_s(talk.history)
    assert seen("turns_total") == talk.turns
    for kind, count in Counter(event.type for event in talk.history).items():
        assert seen("events_total", type=kind) == count
    assert seen("decision_seconds_count", vertical=template.vertical) == len(waited)
    assert seen("decision_seconds_sum", vertical=template.vertical) == pytest.approx(sum(waited))
    for (mode, outcome), times in talk.settled.items():
        assert seen("calls_total", mode=mode, outcome=outcome) == times
    assert len(seen.labelled("calls_total")) == len(talk.settled)

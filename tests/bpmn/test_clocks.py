"""Clocks, duties and who may read come back from BPMN and from a canvas as they were."""

from __future__ import annotations

from typing import Any

from daemon.bpmn.reading import read_bpmn
from daemon.templates.documents import Document
from daemon.templates.loading import CatalogEntry, check, load_json
from daemon.templates.publishing import checked
from tests.bpmn.test_bpmn import bpmn, canvas, entry_of, same

ANCHORED = {"deadline": {"clock": "notice", "before": "P1D"}}
CLOCK: dict[str, Any] = {
    "id": "notice",
    "label": "Decision and notice",
    "from": "inputs.received_at",
    "within": "inputs.urgent == true ? 'P5D' : 'P9D'",
    "stops": ["send"],
    "pauses": ["records", "question:decide"],
    "extend": {"at": "more", "decision": "extended", "by": "P7D", "once_done": "tell"},
    "warn": ["P1D"],
    "on_breach": {"escalate": "owner"},
    "source": "a law",
}
STEPS: list[dict[str, Any]] = [
    {"id": "records", "kind": "wait", "message": "records", "next": "more"},
    {
        "id": "more",
        "kind": "gateway",
        "flow": "exclusive",
        "tier": "high",
        **ANCHORED,
        "on_deadline": "in time",
        "branches": [{"branch": "extended", "to": "tell"}, {"branch": "in time", "to": "decide"}],
    },
    {"id": "tell", "kind": "task", "tool": "mail", "effect": "reversible", "next": "decide"},
    {
        "id": "decide",
        "kind": "gate",
        "function": "director",
        **ANCHORED,
        "on_deadline": {"escalate": "admin"},
        "next": {"approved": "cool-off", "denied": "review"},
    },
    {
        "id": "review",
        "kind": "gate",
        "role": "admin",
        "four_eyes": ["gate:decide"],
        **ANCHORED,
        "on_deadline": "denied",
        "next": {"approved": "cool-off", "denied": "exempt"},
    },
    {"id": "cool-off", "kind": "wait", "until": "clocks.notice.due_at - duration('2h')", "next": "send"},
    {"id": "send", "kind": "task", "tool": "mail", "effect": "reversible", "duty": "law", "next": "done"},
    {"id": "done", "kind": "end", "outcome": "done"},
    {"id": "exempt", "kind": "end", "outcome": "exempt", "ends_clocks": {"notice": "the law asks for nothing"}},
]
DOCUMENT: dict[str, Any] = {
    "vertical": "lawful",
    "version": 1,
    "title": "Lawful",
    "description": "A process with a clock.",
    "inputs_schema": {"type": "object", "properties": {"email": {"type": "string"}, "urgent": {"type": "boolean"}}},
    "example": {"urgent": True},
    "rules": [{"id": "law", "source": "a law", "says": "Tell them.", "not_enforced": "shown", "exempt": ["exempt"]}],
    "clocks": [CLOCK],
    "functions": {"director": {"label": "Director", "role": "manager"}},
    "readers": {"functions": ["director"], "groups": ["board"], "role": "owner", "starter": True},
    "subjects": ["inputs.email"],
    "steps": [{"label": "A step", **step} for step in STEPS],
}
KEPT = ("clocks", "functions", "readers", "subjects", "exempt")


def lawful() -> CatalogEntry:
    entry, wrong = check(Document.model_validate(DOCUMENT))
    assert wrong == ()
    return entry


def test_a_process_with_clocks_and_duties_is_read_as_the_document_that_was_bpmn() -> None:
    entry = lawful()
    found = read_bpmn(bpmn(entry))
    assert found.violations == []
    assert entry_of(found).document == entry.document
    assert canvas(entry_of(found).template) == canvas(entry.template)


def test_a_canvas_keeps_clocks_and_duties_when_it_is_validated_as_it_was_answered() -> None:
    before = canvas(lawful().template)
    found = checked(before)
    assert found.violations == ()
    after = canvas(load_json(found.document or "").template)
    assert same(after, before)
    assert [after[name] for name in KEPT] == [before[name] for name in KEPT]
    assert after["exempt"] == {"law": ["exempt"]}


def test_a_step_that_ends_no_clock_says_nothing_of_clocks_in_bpmn() -> None:
    text = str(bpmn(lawful()))
    assert text.count("ends_clocks") == 1
    assert text.count("duty") == 1

"""The answers of tools: each is read by a rule of its template, which judges a live answer as it
does a dry run's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from actors.core.template import Node, Template
from tests.journeys import FIRST
from tests.templates.test_shipped import ENTRIES, resume, start

TEMPLATES = [ENTRIES[vertical].template for vertical in FIRST]


def answered(node: Node) -> set[str]:
    """What the dry runs of a task answer."""
    return {name for case in node.dry_run for name in case.output}


def rules(template: Template, node: Node) -> Iterator[str]:
    """Every text of a template that can read an answer of that task where nothing is shadowed."""
    if node.signal_when is not None:
        yield re.sub(r"\boutput\b", f'facts["{node.id}"]', node.signal_when.text)
    yield from (edge.when.text for edge in template.edges if edge.when is not None)
    yield from (f"facts.{key.removeprefix('facts.')}" for one in template.nodes for key in one.needs)


def read_by(text: str, step_id: str, member: str) -> bool:
    step = rf'facts(\.{step_id}|\["{step_id}"\])'
    return re.search(rf"{step}\.{member}\b", text) is not None


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.vertical)
def test_whatever_a_dry_run_answers_is_read_by_a_rule_that_holds_live(template: Template) -> None:
    for node in template.nodes:
        texts = list(rules(template, node))
        for member in answered(node):
            assert any(read_by(text, node.id, member) for text in texts), f"nobody reads {member} of {node.id}"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.vertical)
def test_whatever_a_rule_reads_is_answered_by_a_dry_run(template: Template) -> None:
    texts = [text for node in template.nodes for text in rules(template, node)]
    for node in template.nodes:
        step = rf'facts(?:\.{node.id}|\["{node.id}"\])\.(\w+)'
        of_people = set() if node.tool else {"decision", "form", "payload"}
        assert {name for text in texts for name in re.findall(step, text)} <= answered(node) | of_people, node.id


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one.vertical)
def test_no_finding_is_one_of_the_dry_run_alone(template: Template) -> None:
    assert not [node.id for node in template.nodes for case in node.dry_run if case.signal]


@pytest.mark.parametrize("vertical", FIRST)
def test_an_input_that_decides_decides_live_too_or_says_that_it_only_rehearses_an_answer(vertical: str) -> None:
    entry = ENTRIES[vertical]
    ways = [edge.when.text for edge in entry.template.edges if edge.when is not None]
    cases = [case.when.text for node in entry.template.nodes for case in node.dry_run if case.when is not None]
    for name, schema in entry.inputs_schema["properties"].items():
        live, rehearsed = ([t for t in texts if re.search(rf"inputs\.{name}\b", t)] for texts in (ways, cases))
        assert schema.get("description", "").startswith("Dry run: ") is bool(rehearsed and not live), name
        assert live or rehearsed or schema["type"] != "boolean", f"nobody reads {name}"


@pytest.mark.parametrize(
    ("vertical", "inputs", "verdicts", "letter", "outcome"),
    [
        (
            "loan-underwriting",
            {"credit_score": 742, "dti": 0.2},
            ["fund-loan denied", "sign-notice approved"],
            "send-adverse-action",
            "declined",
        ),
        (
            "loan-underwriting",
            {},
            ["underwriter-review decline", "sign-notice approved"],
            "send-adverse-action",
            "declined",
        ),
        (
            "insurance-claim",
            {"claimed_amount": 900, "prior_claims": 0},
            ["pay-claim denied", "adjuster-review deny"],
            "send-denial",
            "rejected",
        ),
        ("insurance-claim", {}, ["adjuster-review deny"], "send-denial", "rejected"),
        (
            "insurance-claim",
            {},
            ["adjuster-review settle", "pay-settled denied", "payment-review approved"],
            "send-withdrawal",
            "rejected",
        ),
        ("prior-auth", {"appealed": True}, ["signoff denied", "appeal-review denied"], "uphold", "denied"),
        ("data-subject-erasure", {}, ["identity-review not enough"], "send-refusal", "refused"),
        ("data-subject-erasure", {}, ["identity-review enough", "dpo-review keep"], "send-refusal", "refused"),
        (
            "data-subject-erasure",
            {"identity_proven": True, "retention_duty": False},
            ["erase denied", "dpo-review keep"],
            "send-refusal",
            "refused",
        ),
        ("refund", {}, ["supervisor denied"], "explain", "refused"),
        (
            "refund",
            {"amount": 20, "days_since_delivery": 3, "refunds_this_year": 9},
            ["supervisor denied"],
            "explain",
            "refused",
        ),
        (
            "collections",
            {"disputed": True},
            ["signoff approved", "dispute-review approved"],
            "send-verification",
            "plan_agreed",
        ),
    ],
)
def test_a_denial_that_a_law_answers_with_a_letter_sends_it(
    vertical: str, inputs: dict[str, object], verdicts: list[str], letter: str, outcome: str
) -> None:
    entry, template = ENTRIES[vertical], ENTRIES[vertical].template
    required = {key: entry.example[key] for key in entry.inputs_schema.get("required", [])}
    run = start(template, {**required, **inputs})
    for verdict in verdicts:
        gate, _, decision = verdict.partition(" ")
        assert [visit.step_id for visit in run.parked] == [gate]
        run = resume(run, template, gate, decision)
    assert run.ended is not None
    assert (run.ended.status, run.ended.outcome) == ("completed", outcome)
    assert [visit.status for visit in run.trace if visit.step_id == letter] == ["done"]


@pytest.mark.parametrize(
    ("vertical", "gate"),
    [("collections", "signoff"), ("access-request", "owner-approval")],
)
def test_a_denial_that_needs_no_letter_ends_the_run_as_denied(vertical: str, gate: str) -> None:
    template = ENTRIES[vertical].template
    run = resume(start(template, {"person": "e.novak", "system": "crm"}), template, gate, "denied")
    assert run.ended is not None
    assert (run.ended.status, run.ended.outcome) == ("completed", "denied")


def test_an_expedited_request_is_not_held_up_by_asking_for_records() -> None:
    template = ENTRIES["prior-auth"].template
    for expedited, asked in ((True, False), (False, True)):
        run = start(template, {"expedited": expedited})
        lane = "-expedited" if expedited else ""
        assert [visit.step_id for visit in run.parked] == ["expedited-signoff" if expedited else "signoff"]
        assert run.signals == (f"recommend{lane}",)
        assert ("request-records" in run.visits) is asked


def test_nobody_whose_account_has_a_finding_is_written_to_before_compliance_has_decided() -> None:
    template = ENTRIES["collections"].template
    run = start(template, {"bankrupt": True})
    assert [visit.step_id for visit in run.parked] == ["scrub-review"]
    closed = resume(run, template, "scrub-review", "denied")
    assert closed.ended is not None
    assert (closed.ended.outcome, "send-notice" in closed.visits) == ("closed", False)

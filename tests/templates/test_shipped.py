"""The shipped templates, driven through the pure core: every journey, every branch, and nobody's
inputs wasted.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any

import pytest
from msgspec import structs

from actors.core.decider import TurnResult, step
from actors.core.gate_policy import GatePolicy
from actors.core.messages import Deliver, Due, Resume, Start
from actors.core.run import Run
from actors.core.template import GATE_TIERS, Template
from daemon.templates.loading import CatalogEntry
from tests.conversations import ALONE
from tests.journeys import FIRST, JOURNEYS, Human, Journey
from tests.shelf import shipped

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ENTRIES = {entry.template.vertical: entry for entry in shipped()}
FIXED: dict[str, tuple[str, dict[str, Any]]] = {
    "prior-auth": (
        "signoff",
        {"member_id": 204417, "procedure_code": "99213", "diagnosis": ["E11.9", "I10"]},
    ),
    "aml": (
        "bsa-gate",
        {
            "customer_name": "Ada",
            "customer_country": "DE",
            "customer_dob": "1990-01-01",
            "risk_band": "MEDIUM",
        },
    ),
    "collections": ("signoff", {"account_id": "AC-1", "debtor_name": "J. Ellis", "balance": "120.50"}),
    "chargeback-representment": (
        "signoff",
        {"dispute_id": "D-1", "reason_code": 13.1, "amount": 25, "network": "mastercard"},
    ),
}


def taken(result: object) -> Run:
    assert isinstance(result, TurnResult), result
    assert result.rejected is None
    assert result.effects == ()
    return result.run


def start(template: Template, inputs: dict[str, Any], *, auto: bool = True) -> Run:
    message = Start(run_id="r", company_id="c", by="u", inputs=inputs, auto_resolve=auto, at=AT)
    return taken(step(None, message, template, {}, company=ALONE))


def brought(policy: GatePolicy, decision: str) -> dict[str, Any]:
    """The code or the form that a verdict has to bring: the first of what may be said."""
    if decision == "denied":
        return {"code": policy.denial_codes[0]} if policy.code == "required" else {}
    asked: Any = (policy.form or {}).get("properties", {})
    form = {name: one["enum"][0] for name, one in asked.items() if "enum" in one}
    return {"form": form} if form else {}


def resume(run: Run, template: Template, gate: str, decision: str, comment: str | None = "as the file says") -> Run:
    more = brought(template.node(gate).policy, decision)
    message = Resume(gate=gate, decision=decision, by="u", role="owner", at=AT, comment=comment, **more)
    return taken(step(run, message, template, {}, company=ALONE))


def end_of(run: Run) -> tuple[str, str | None]:
    return run.status, run.ended.outcome if run.ended else None


def branches_taken(run: Run, template: Template) -> tuple[tuple[str, str], ...]:
    return tuple(
        (visit.step_id, visit.output["branch"])
        for visit in run.trace
        if template.node(visit.step_id).flow == "exclusive" and visit.verdict is None
    )


def patient(run: Run, template: Template) -> Run:
    """The run once the time for all that it waits for is over."""
    while not run.parked and run.status == "waiting":
        over = min(visit.wait.until for visit in run.open if visit.wait is not None and visit.wait.until is not None)
        run = taken(step(run, Due(at=max(over, run.updated_at)), template, {}, company=ALONE))
    return run


def wanders(run: Run, template: Template, choice: int) -> tuple[str, str | None]:
    """Resume until the end, at each visit of a gateway with the next of its decisions."""
    for turn in range(200):
        run = patient(run, template)
        if not run.parked:
            break
        visit = run.parked[turn % len(run.parked)]
        assert visit.gate is not None
        labels = visit.gate.decisions
        chosen = labels[(choice + visit.visit) % len(labels)] if "approved" not in labels else "approved"
        run = resume(run, template, visit.step_id, chosen)
    return end_of(run)


@pytest.mark.parametrize("journey", JOURNEYS, ids=str)
def test_with_auto_resolve_a_journey_parks_where_it_says_and_ends_as_it_says(journey: Journey) -> None:
    template = ENTRIES[journey.vertical].template
    run, human = start(template, journey.inputs), Human(journey)
    for gate, decision in journey.verdicts:
        assert run.status == "parked"
        assert run.parked[0].step_id == gate
        assert human.decide(gate) == decision
        run = resume(run, template, gate, decision)
    assert end_of(run) == ("completed", journey.outcome)
    assert branches_taken(run, template) == journey.branches


@pytest.mark.parametrize("journey", JOURNEYS, ids=str)
def test_without_auto_resolve_a_journey_waits_at_every_step_and_ends_the_same(journey: Journey) -> None:
    template = ENTRIES[journey.vertical].template
    run, human = start(template, journey.inputs, auto=False), Human(journey)
    decided = 0
    while run.parked:
        gate = run.parked[0].step_id
        run = resume(run, template, gate, human.decide(gate))
        decided += 1
    assert end_of(run) == ("completed", journey.outcome)
    assert decided == sum(visit.kind != "end" for visit in run.trace)
    assert all(visit.verdict is not None for visit in run.trace if visit.kind != "end")


@pytest.mark.parametrize("journey", JOURNEYS, ids=str)
def test_the_inputs_of_a_journey_fit_the_schema(journey: Journey) -> None:
    assert ENTRIES[journey.vertical].input_errors(journey.inputs) == []


def test_each_process_of_the_first_library_has_a_clean_and_an_escalated_journey() -> None:
    told = sorted((journey.vertical, journey.name) for journey in JOURNEYS)
    assert len(FIRST) == 14
    assert told == sorted((vertical, name) for vertical in FIRST for name in ("clean", "escalated"))


@pytest.mark.parametrize("vertical", FIRST)
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("choice", [0, 1, 2, 3])
def test_whichever_branches_a_human_picks_the_run_comes_to_an_end(vertical: str, auto: bool, choice: int) -> None:
    entry = ENTRIES[vertical]
    for inputs in (entry.example, {}):
        run = start(entry.template, inputs, auto=auto)
        assert wanders(run, entry.template, choice)[0] == "completed"


@pytest.mark.parametrize("vertical", FIRST)
def test_missing_inputs_never_make_a_condition_fail(vertical: str) -> None:
    template = ENTRIES[vertical].template
    run = start(template, {})
    seen: list[str | None] = []
    for _ in range(40):
        if not run.parked:
            break
        gate = run.parked[0].gate
        assert gate is not None
        seen.append(gate.reason)
        run = resume(run, template, run.parked[0].step_id, gate.decisions[0])
    assert not [reason for reason in seen if reason is not None and "no clear answer" in reason]


@pytest.mark.parametrize("vertical", FIRST)
def test_a_tool_that_answers_nothing_leads_to_a_human_and_to_no_failing_condition(vertical: str) -> None:
    entry = ENTRIES[vertical]
    silent = replace(entry.template, nodes=tuple(structs.replace(node, dry_run=()) for node in entry.template.nodes))
    run = start(silent, entry.example)
    assert run.status == "parked"
    assert not [v for v in run.parked if v.gate is not None and "no clear answer" in v.gate.reason]


@pytest.mark.parametrize("vertical", FIRST)
def test_without_optional_inputs_a_human_is_asked(vertical: str) -> None:
    entry = ENTRIES[vertical]
    required = {key: entry.example[key] for key in entry.inputs_schema.get("required", [])}
    assert entry.input_errors(required) == []
    assert start(entry.template, required).status == "parked"


@pytest.mark.parametrize("vertical", sorted(FIXED))
def test_the_fixed_verticals_park_at_their_gate_whatever_callers_send(vertical: str) -> None:
    gate, named = FIXED[vertical]
    entry = ENTRIES[vertical]
    for inputs in (entry.example, named, {}, {**named, "something_else": [1]}):
        assert entry.input_errors(inputs) == []
        assert [visit.step_id for visit in start(entry.template, inputs).parked] == [gate]


def test_a_denied_prior_authorization_is_appealed_and_can_be_upheld() -> None:
    template = ENTRIES["prior-auth"].template
    for there, seen in (({"appealed": True}, []), ({}, ["await-appeal"])):
        run = resume(start(template, there), template, "signoff", "denied")
        assert [visit.step_id for visit in run.open if visit.status == "waiting"] == seen
        if seen:
            filed = Deliver(name="appeal-filed", by="u", at=AT)
            run = taken(step(run, filed, template, {}, company=ALONE))
        assert [visit.step_id for visit in run.parked] == ["appeal-review"]
        assert end_of(resume(run, template, "appeal-review", "denied")) == ("completed", "denied")
        assert end_of(resume(run, template, "appeal-review", "approved")) == ("completed", "authorized")


def test_a_denial_that_nobody_appeals_within_sixty_five_days_stands() -> None:
    template = ENTRIES["prior-auth"].template
    run = patient(resume(start(template, {}), template, "signoff", "denied"), template)
    assert end_of(run) == ("completed", "denied")
    assert run.updated_at - AT == timedelta(days=65)


def test_the_bsa_officer_sees_a_risky_customer_at_most_once_more() -> None:
    template = ENTRIES["aml"].template
    run = start(template, {"risk_band": "high"})
    assert run.parked[0].gate is not None
    assert {"onboarding approved", "SAR signed"} <= set(run.parked[0].gate.decisions)
    run = resume(run, template, "bsa-gate", "onboarding approved")
    assert [visit.step_id for visit in run.parked] == ["alert-review"]
    assert end_of(resume(run, template, "alert-review", "not suspicious")) == ("completed", "onboarded")
    assert end_of(resume(run, template, "alert-review", "SAR signed")) == ("completed", "sar_filed")


@pytest.mark.parametrize("vertical", ["aml", "chargeback-representment", "collections", "prior-auth"])
@pytest.mark.parametrize("branch", [0, 1])
def test_a_bare_verdict_of_who_started_is_enough_where_one_person_is_a_company(vertical: str, branch: int) -> None:
    entry = ENTRIES[vertical]
    run = patient(start(entry.template, entry.example), entry.template)
    while run.parked:
        visit = run.parked[0]
        assert visit.gate is not None
        decision = visit.gate.decisions[(branch + visit.visit - 1) % len(visit.gate.decisions)]
        run = patient(resume(run, entry.template, visit.step_id, decision, comment=None), entry.template)
    assert run.status == "completed"


@pytest.mark.parametrize(
    ("inputs", "gate"),
    [
        ({"amount": 24.99}, "accept-signoff"),
        ({"amount": 24}, "accept-signoff"),
        ({"amount": "19.50"}, "accept-signoff"),
        ({"amount": 25}, "signoff"),
        ({"amount": "25.00"}, "signoff"),
        ({"amount": "much"}, "signoff"),
        ({"reason_code": "10.1", "amount": 400}, "accept-signoff"),
        ({"reason_code": 4871, "amount": 400}, "accept-signoff"),
        ({"reason_code": 4853, "amount": 400}, "signoff"),
        ({"reason_code": "13.1", "amount": 400}, "signoff"),
        ({"refunded": True, "amount": 400}, "accept-signoff"),
    ],
)
def test_a_dispute_that_cannot_pay_goes_to_the_gate_for_accepting_it(inputs: dict[str, Any], gate: str) -> None:
    assert [visit.step_id for visit in start(ENTRIES["chargeback-representment"].template, inputs).parked] == [gate]


def test_several_gates_of_a_change_are_open_at_once() -> None:
    template = ENTRIES["production-change"].template
    run = start(template, {"change_id": "CHG-1", "service": "billing"})
    assert [visit.step_id for visit in run.parked] == ["peer-review", "security-review"]
    run = resume(run, template, "security-review", "approved")
    assert [visit.step_id for visit in run.parked] == ["peer-review"]
    assert end_of(resume(run, template, "peer-review", "denied")) == ("completed", "denied")


def test_a_signal_stops_the_autopilot_before_the_next_step() -> None:
    entry = ENTRIES["invoice-approval"]
    run = start(entry.template, {**entry.example, "seen_before": True})
    assert run.signals == ("check-duplicate",)
    assert run.parked[0].gate is not None
    assert run.parked[0].gate.reason == "the signal of check-duplicate is not decided yet"


def test_the_templates_use_every_kind_of_flow() -> None:
    templates = [entry.template for entry in ENTRIES.values()]
    gateways = [(template, node) for template in templates for node in template.nodes if node.kind == "gateway"]
    assert any(template.joins(node.id) for template, node in gateways)
    assert any(node.flow == "exclusive" and not node.gate for _, node in gateways)
    assert any(node.flow == "exclusive" and node.tier in GATE_TIERS for _, node in gateways)
    assert any(node.signal_when is not None for template in templates for node in template.nodes)


@pytest.mark.parametrize("vertical", sorted(ENTRIES))
def test_each_template_is_governed_named_and_kept_in_a_file_of_its_own(vertical: str) -> None:
    entry = ENTRIES[vertical]
    assert entry.pack is not None
    folder = resources.files("daemon.templates") / "shipped" / entry.pack
    text = (folder / f"{vertical}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert entry.template.gates
    assert all(node.dry_run for node in entry.template.nodes if node.kind == "task")
    assert entry.description


def test_the_fixed_verticals_require_no_input() -> None:
    fixed: list[CatalogEntry] = [ENTRIES[vertical] for vertical in FIXED]
    assert all(not entry.inputs_schema.get("required") for entry in fixed)

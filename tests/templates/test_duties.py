"""What the shipped processes do with money and duties, and what they do not claim to enforce."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.decider import TurnResult, step
from actors.core.messages import Deliver
from actors.core.run import Run
from actors.core.template import Template
from daemon.templates.shipped import library
from tests.conversations import ALONE
from tests.templates.test_shipped import AT, ENTRIES, end_of, resume, start

TEXTS = {vertical: entry.document for vertical, entry in ENTRIES.items()}


def played(vertical: str, inputs: dict[str, Any], *verdicts: str) -> tuple[Run, Template]:
    """A run of a process after the decisions of people, each at the gate that is named."""
    entry = ENTRIES[vertical]
    run = start(entry.template, {**entry.example, **inputs})
    for verdict in verdicts:
        gate, _, decision = verdict.partition(" ")
        assert gate in [visit.step_id for visit in run.parked]
        run = resume(run, entry.template, gate, decision)
    return run, entry.template


def steps(run: Run) -> list[str]:
    return [visit.step_id for visit in run.trace]


def test_a_claim_is_paid_by_its_estimate_less_the_deductible_and_not_by_what_was_claimed() -> None:
    run, template = played("insurance-claim", {"claimed_amount": 1450})
    assert [visit.step_id for visit in run.parked] == ["pay-claim"]
    assert run.facts["settlement"] == {"payable": 880}
    assert run.parked[0].gate is not None
    assert run.parked[0].gate.question == "Pay 880 (sample) on claim CL-7710?"
    assert "facts.settlement.payable" in template.node("pay-claim").needs
    assert "claimed_amount" not in str(ENTRIES["insurance-claim"].tools["claim-pay"].input)


def test_who_asks_for_a_change_does_not_say_that_it_is_a_standard_one() -> None:
    template = ENTRIES["production-change"].template
    (standard,) = [edge for edge in template.leaving("change-type") if edge.branch == "standard"]
    assert standard.when is not None
    assert "inputs" not in standard.when.text
    assert 'facts["look-up-model"].approved == true' in standard.when.text


def test_an_emergency_change_is_checked_at_once_and_reviewed_even_where_it_was_accepted() -> None:
    emergency = {"emergency": True, "standard": False}
    run, template = played("production-change", {**emergency, "canary": "healthy"}, "emergency-approval approved")
    assert [visit.step_id for visit in run.parked] == ["review-afterwards"]
    assert "check-health" in steps(run)
    unwell = {**emergency, "canary": "failing"}
    run, _ = played("production-change", unwell, "emergency-approval approved", "incident accept")
    assert [visit.step_id for visit in run.parked] == ["review-afterwards"]
    assert template.node("incident").policy.deadline == "PT1H"


def test_a_disclosure_that_waits_for_the_attorney_general_is_asked_for_again() -> None:
    run, template = played(
        "security-incident",
        {"significant": True},
        "send-warning approved",
        "materiality material",
        "file-form-8k denied",
    )
    (waits,) = [visit for visit in run.open if visit.step_id == "await-delay"]
    over = Deliver(name="delay-ended", by="u", at=AT)
    later = step(run, over, template, {}, company=ALONE)
    assert isinstance(later, TurnResult)
    assert (waits.status, later.run.visits["file-form-8k"]) == ("waiting", 2)
    assert "file-form-8k" in [visit.step_id for visit in later.run.parked]


@pytest.mark.parametrize(
    ("warned", "outcome"), [("approved", "reported"), ("denied", "reported"), ("denied", "closed")]
)
def test_a_listed_company_is_asked_for_materiality_whatever_the_authority_is_told(warned: str, outcome: str) -> None:
    verdicts = [f"send-warning {warned}"]
    verdicts += ["send-notification approved", "send-final-report approved"] if warned == "approved" else []
    filed = ["materiality material", "file-form-8k approved"] if outcome == "reported" else ["materiality not material"]
    run, _ = played("security-incident", {"significant": True}, *verdicts, *filed)
    assert ("send-notification" in steps(run), "file-form-8k" in steps(run)) == (warned == "approved", len(filed) == 2)
    if outcome == "closed":
        assert [visit.step_id for visit in run.parked] == ["close"]
    else:
        assert end_of(run) == ("completed", outcome)


def test_people_decide_on_an_incident_without_impact_that_nobody_will_close() -> None:
    run, _ = played("security-incident", {"significant": False, "hosts": 40}, "close denied")
    assert [visit.step_id for visit in run.parked] == ["send-warning", "materiality"]


def test_a_chargeback_that_is_not_fought_is_accepted() -> None:
    run, _ = played("chargeback-representment", {}, "signoff denied", "accept-signoff approved")
    assert end_of(run) == ("completed", "accepted")


def test_an_explanation_is_due_before_the_limit_of_three_business_days() -> None:
    assert ENTRIES["error-resolution"].template.node("sign-explanation").policy.deadline == "P2BD"


def test_what_is_erased_in_part_ends_so_and_is_told_with_what_is_kept() -> None:
    kept = {"retention_duty": True}
    run, _ = played("data-subject-erasure", kept, "dpo-review erase in part", "erase approved")
    assert end_of(run) == ("completed", "erased_in_part")
    assert "answer-in-part" in steps(run)
    template = ENTRIES["data-subject-erasure"].template
    assert template.node("erase").policy.code == "required"
    assert template.node("dpo-review").policy.form is not None


def test_a_credit_that_was_not_given_by_hand_is_tried_again_and_grants_nothing() -> None:
    ways = {edge.branch: edge.target for edge in ENTRIES["error-resolution"].template.leaving("credit-by-hand")}
    assert ways == {"approved": "tell-credit", "denied": "provisional-credit"}


@pytest.mark.parametrize(
    ("reason", "gate"),
    [
        ("10.4", "arbitration-signoff"),
        ("11.1", "arbitration-signoff"),
        ("13.1", "prearbitration-signoff"),
        ("4853", "prearbitration-signoff"),
    ],
)
def test_who_takes_a_dispute_to_arbitration_follows_from_its_reason(reason: str, gate: str) -> None:
    inputs = {"reason_code": reason, "issuer_response": "declined"}
    run, _ = played("chargeback-representment", inputs, "signoff approved")
    assert [visit.step_id for visit in run.parked] == [gate]
    for won, outcome in ((True, "won"), (False, "lost")):
        run, _ = played(
            "chargeback-representment", {**inputs, "arbitration_won": won}, "signoff approved", f"{gate} approved"
        )
        assert end_of(run) == ("completed", outcome)


def test_a_late_return_with_permission_is_for_entries_of_companies_alone() -> None:
    template = ENTRIES["unauthorized-ach-return"].template
    (permitted,) = [edge for edge in template.leaving("permitted") if edge.branch == "permitted"]
    assert permitted.when is not None
    payload = {"await-permission": {"payload": {"permitted": True}}}
    entries = [{"corporate": True}, {"corporate": False}, {}]
    assert [permitted.when.holds({}, {**payload, "find-entry": one}) for one in entries] == [True, False, False]
    (answer, *_) = [case.output for case in template.node("find-entry").dry_run if case.output.get("corporate")]
    assert answer["in_time"] is False
    assert "R05 corporate code" in template.decisions("return-signoff")


def test_no_process_rests_on_what_was_withdrawn_or_replaced() -> None:
    for vertical, text in TEXTS.items():
        for gone in ("PCI DSS 4.0 requirement", "Circulars 2022-03", '"NIST SP 800-61"'):
            assert gone not in text, vertical


CLAIMED = [
    ("prior-auth", "CMS-0057-F"),
    ("aml", "31 CFR 1020.220"),
    ("aml", "31 CFR 1020.210"),
    ("aml", "31 CFR 1020.320"),
    ("suspicious-activity-report", "31 CFR 1020.320(b)(3)"),
    ("suspicious-activity-report", "31 CFR 1020.320(b)(3), where no suspect is known"),
    ("sanctions-screening", "31 CFR 501.601"),
    ("sanctions-screening", "31 CFR 501.603"),
    ("sanctions-screening", "31 CFR 501.603(b)(2)"),
    ("wire-transfer-release", "UCC 4A-211(d)"),
    ("error-resolution", "12 CFR 1005.11(c)(1)"),
    ("error-resolution", "12 CFR 1005.11(c)(1), the result"),
    ("chargeback-representment", "Networks, time to answer"),
    ("insurance-claim", "NAIC Model 902, the days"),
    ("insurance-claim", "NAIC Model 680, the report"),
    ("loan-underwriting", "Regulation Z, 12 CFR 1026.43(c)"),
    ("loan-underwriting", "12 CFR 1002.9(c)(2)"),
    ("loan-underwriting", "12 CFR 1022.72"),
    ("adverse-action-notice", "Regulation B, 12 CFR 1002.9(a)(1)(i)"),
    ("adverse-action-notice", "12 CFR 1002.9(a)(1)(iv)"),
    ("data-subject-erasure", "GDPR Article 12(3)"),
    ("data-subject-erasure", "CCPA section 1798.105"),
    ("security-incident", "Directive (EU) 2022/2555 Article 23(4)(b)"),
    ("security-incident", "SEC Form 8-K Item 1.05(a)"),
    ("freedom-of-information", "5 USC 552(a)(6)(A)(i), the days"),
    ("freedom-of-information", "5 USC 552(a)(6)(B)(i), the days"),
    ("freedom-of-information", "Executive Order 12600, section 5"),
    ("breach-notification", "GDPR Article 33(1), the hours"),
    ("patient-access-request", "45 CFR 164.524(b)(2)"),
    ("collections", "12 CFR 1006.26"),
    ("collections", "12 CFR 1006.6(a)(4)"),
    ("collections", "Servicemembers Civil Relief Act"),
    ("surprise-billing-dispute", "45 CFR 149.510(b)(1)"),
]


@pytest.mark.parametrize(("vertical", "source"), CLAIMED)
def test_what_no_step_can_keep_is_not_said_to_be_enforced(vertical: str, source: str) -> None:
    rules = [one for one in ENTRIES[vertical].rules if one.source == source]
    assert [bool(one.not_enforced) for one in rules] == [True]


def test_a_process_that_has_changed_has_a_new_version() -> None:
    first = {"insurance-claim": 5, "production-change": 5, "security-incident": 1, "sanctions-screening": 6, "aml": 5}
    versions = {one.header.vertical: one.header.version for one in library()}
    assert {vertical: versions[vertical] > number for vertical, number in first.items()} == dict.fromkeys(first, True)

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


NOT_SIGNIFICANT = ("significance not significant", "significance-review not significant")


def test_a_disclosure_that_waits_for_the_attorney_general_is_asked_for_again() -> None:
    run, template = played(
        "security-incident",
        {"significant": True},
        *NOT_SIGNIFICANT,
        "materiality material",
        "disclosure-decision it is delayed",
        "delay-review there is one",
    )
    (waits,) = [visit for visit in run.open if visit.step_id == "await-delay"]
    over = Deliver(name="delay-ended", by="u", at=AT)
    later = step(run, over, template, {}, company=ALONE)
    assert isinstance(later, TurnResult)
    assert (waits.status, later.run.visits["disclosure-decision"]) == ("waiting", 2)
    assert "disclosure-decision" in [visit.step_id for visit in later.run.parked]


@pytest.mark.parametrize(
    ("warned", "outcome"), [("significant", "reported"), ("not significant", "reported"), ("not significant", "closed")]
)
def test_a_listed_company_is_asked_for_materiality_whatever_the_authority_is_told(warned: str, outcome: str) -> None:
    told = ["significance significant", "assessment send it", "final-review it is over"]
    verdicts = told if warned == "significant" else [*NOT_SIGNIFICANT]
    filed = ["materiality material", "disclosure-decision file it"]
    verdicts += filed if outcome == "reported" else ["materiality not material", "materiality-review not material"]
    run, _ = played("security-incident", {"significant": True}, *verdicts)
    done = steps(run)
    assert ("send-notification" in done, "file-form-8k" in done) == (warned == "significant", outcome == "reported")
    if outcome == "closed":
        assert [visit.step_id for visit in run.parked] == ["close-later"]
    else:
        assert end_of(run) == ("completed", outcome)


def test_people_decide_on_an_incident_without_impact_that_nobody_will_close() -> None:
    run, _ = played("security-incident", {"significant": False, "hosts": 40}, "close denied")
    assert [visit.step_id for visit in run.parked] == ["significance", "materiality"]


def test_who_suspects_fraud_in_a_claim_waits_for_the_unit_and_reports_before_the_claim_is_decided() -> None:
    template = ENTRIES["insurance-claim"].template
    assert {edge.target for edge in template.leaving("report-fraud")} == {"last-review", "unit-finds"}
    run, _ = played("insurance-claim", {"claimed_amount": 32000, "prior_claims": 4}, "adjuster-review more time")
    assert [visit.step_id for visit in run.open] == ["await-unit"]


def test_an_order_of_the_authority_is_refused_by_nobody_but_counsel() -> None:
    template = ENTRIES["breach-notification"].template
    refusals = {edge.branch: edge.target for edge in template.leaving("write-on-order")}
    counsel = template.node("contest-order").policy
    assert refusals == {"approved": "notified", "denied": "contest-order"}
    assert (counsel.role, counsel.four_eyes) == ("admin", ("gate:write-on-order",))


CLOCKED = {
    "insurance-claim": {"acknowledgement": "P15D", "decision": "P21D", "payment": "P30D"},
    "life-claim": {"acknowledgement": "P15BD", "decision": "P15BD"},
    "total-loss-settlement": {"decision": "P40D", "payment": "P30D", "certificate": "P10D"},
    "siu-referral": {"report": "P60D"},
    "breach-notification": {"authority": "PT72H"},
    "security-incident": {
        "warning": "PT24H",
        "incident-notification": "PT72H",
        "report": "P1M",
        "disclosure": "P4BD",
    },
    "surprise-billing-dispute": {"selection": "P3BD", "offer": "P10BD", "payment": "P30D"},
    "formulary-exception": {"decision": "PT72H", "expedited": "PT20H"},
    "concurrent-review": {"detailed": "PT12H"},
    "provider-credentialing": {"npdb": "P30D"},
    "family-medical-leave": {"eligibility": "P5BD", "designation": "P5BD"},
    "benefit-determination": {"seven-days": "P7D", "thirty-days": "P30D", "hearing-decision": "P60D"},
    "procurement-award": {"notice": "P30D"},
}


@pytest.mark.parametrize("vertical", sorted(CLOCKED))
def test_the_time_of_the_law_is_a_clock_of_the_case(vertical: str) -> None:
    clocks = ENTRIES[vertical].template.clocks
    assert {one.id: one.within for one in clocks} == CLOCKED[vertical]
    assert all(one.source for one in clocks)


def test_a_chargeback_that_is_not_fought_is_accepted() -> None:
    run, _ = played("chargeback-representment", {}, "signoff denied", "accept-signoff approved")
    assert end_of(run) == ("completed", "accepted")


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


GONE = ("PCI DSS 4.0 requirement", "Circulars 2022-03", '"NIST SP 800-61"', '"NIST SP 800-88"', "BOD 22-01")


def test_no_process_rests_on_what_was_withdrawn_or_replaced() -> None:
    for vertical, text in TEXTS.items():
        for gone in GONE:
            assert gone not in text, vertical


CLAIMED = [
    ("aml", "31 CFR 1020.210"),
    ("sanctions-screening", "31 CFR 501.601"),
    ("sanctions-screening", "31 CFR 501.603(b)(2)"),
    ("wire-transfer-release", "UCC 4A-211(d)"),
    ("insurance-claim", "NAIC Model 902, the days"),
    ("security-incident", "SEC Form 8-K Item 1.05(c), the length of the delay"),
    ("breach-notification", "GDPR Article 33(1), the reasons"),
    ("surprise-billing-dispute", "45 CFR 149.510(b)(1), the day"),
    ("vulnerability-exception", "CISA BOD 26-04, the days"),
    ("loan-underwriting", "Regulation Z, 12 CFR 1026.43(c)"),
    ("collections", "12 CFR 1006.26"),
    ("collections", "12 CFR 1006.6(a)(4)"),
    ("collections", "Servicemembers Civil Relief Act"),
]


@pytest.mark.parametrize(("vertical", "source"), CLAIMED)
def test_what_no_step_can_keep_is_not_said_to_be_enforced(vertical: str, source: str) -> None:
    rules = [one for one in ENTRIES[vertical].rules if one.source == source]
    assert [bool(one.not_enforced) for one in rules] == [True]


def test_a_process_that_has_changed_has_a_new_version() -> None:
    first = {"insurance-claim": 5, "production-change": 5, "security-incident": 1, "sanctions-screening": 6, "aml": 5}
    versions = {one.header.vertical: one.header.version for one in library()}
    assert {vertical: versions[vertical] > number for vertical, number in first.items()} == dict.fromkeys(first, True)


@pytest.mark.parametrize("decision", ["refer alone", "nothing to report"])
def test_cash_above_the_limit_is_not_left_unreported_by_one_person(decision: str) -> None:
    run, template = played("currency-transaction-report", {"structured": True}, f"officer {decision}")
    gate = "signoff" if decision == "refer alone" else "no-report-review"
    assert [visit.step_id for visit in run.parked] == [gate]
    assert {"gate:officer", "gate:officer-again"} <= {*template.node("no-report-review").policy.four_eyes}


def test_a_payment_has_no_more_than_what_came_back_is_not_covered_or_is_left() -> None:
    for vertical, step_id, amount in (
        ("payment-recall", "credit-customer", "facts.read-answer.returned_amount"),
        ("charge-off", "post", "facts.work-out.charge"),
        ("surprise-billing-dispute", "pay-balance", "facts.compute-balance.due"),
        ("life-claim", "pay-proceeds", "facts.compute-proceeds.total"),
        ("life-claim", "deposit", "facts.compute-deposit.total"),
        ("policy-cancellation", "pay-refund", "facts.compute-unearned.unearned"),
        ("total-loss-settlement", "pay-lienholder", "facts.split.lienholder"),
        ("total-loss-settlement", "pay-owner", "facts.split.owner"),
    ):
        assert amount in ENTRIES[vertical].template.node(step_id).needs


def test_a_call_needs_what_was_signed_for_it() -> None:
    for vertical, step_id, needed in (
        ("invoice-approval", "release", {"inputs.amount", "inputs.vendor_id"}),
        ("vendor-onboarding", "activate", {"inputs.bank_account"}),
        ("access-request", "grant", {"inputs.system", "inputs.entitlement", "inputs.days"}),
        ("customer-onboarding", "open-account", {"inputs.customer_address", "inputs.identification_number"}),
    ):
        assert needed <= {*ENTRIES[vertical].template.node(step_id).needs}, vertical


def test_what_has_failed_half_way_is_not_gone_on_with() -> None:
    migration, rotation = ENTRIES["database-migration"].template, ENTRIES["secret-rotation"].template
    failed = migration.on_error("expand")
    assert failed is not None
    assert migration.node(failed.target).tool == migration.node("expand").compensate
    assert {edge.target for edge in migration.leaving("trouble")} == {"expand", "copy", "rolled-back"}
    for step_id in ("create", "distribute"):
        failed = rotation.on_error(step_id)
        assert failed is not None
        assert "grace" not in {edge.target for edge in rotation.leaving(failed.target)}

"""The shipped processes whose law sets a time: their clocks, functions and readers."""

from __future__ import annotations

import pytest

from actors.core.gate_policy import AnchoredDeadline
from actors.core.template import Template
from tests.templates.test_shipped import ENTRIES

CLOCKED = {
    "prior-auth": {"notice", "appeal"},
    "patient-access-request": {"access"},
    "aml": {"first-report", "sar"},
    "suspicious-activity-report": {"filing"},
    "sanctions-screening": {"hold", "blocking-report", "rejection-report"},
    "currency-transaction-report": {"ctr"},
    "error-resolution": {"investigation", "final-finding", "result"},
    "chargeback-representment": {"representment", "next-answer"},
    "unauthorized-ach-return": {"contest-due"},
    "refund": {"refund"},
    "loan-underwriting": {"action"},
    "adverse-action-notice": {"notice"},
    "credit-reporting-dispute": {"reply"},
    "loss-mitigation": {"acknowledgment", "evaluation", "appeal"},
    "data-subject-erasure": {"month"},
    "data-subject-access": {"month"},
    "freedom-of-information": {"determination-due", "appeal-due"},
}
TIMED = [
    ("prior-auth", "CMS-0057-F", "notice"),
    ("prior-auth", "42 CFR 438.408(b) and 422.590", "appeal"),
    ("suspicious-activity-report", "31 CFR 1020.320(b)(3)", "filing"),
    ("suspicious-activity-report", "31 CFR 1020.320(b)(3), where no suspect is known", "filing"),
    ("aml", "31 CFR 1020.320", "sar"),
    ("aml", "31 CFR 1020.320, before an account is opened", "first-report"),
    ("sanctions-screening", "31 CFR 501.603", "blocking-report"),
    ("error-resolution", "12 CFR 1005.11(c)(1)", "investigation"),
    ("error-resolution", "12 CFR 1005.11(c)(1), the result", "result"),
    ("chargeback-representment", "Networks, time to answer", "representment"),
    ("adverse-action-notice", "Regulation B, 12 CFR 1002.9(a)(1)(i)", "notice"),
    ("adverse-action-notice", "12 CFR 1002.9(a)(1)(iv)", "notice"),
    ("data-subject-erasure", "GDPR Article 12(3)", "month"),
    ("freedom-of-information", "5 USC 552(a)(6)(A)(i), the days", "determination-due"),
    ("freedom-of-information", "5 USC 552(a)(6)(B)(i), the days", "determination-due"),
    ("patient-access-request", "45 CFR 164.524(b)(2)", "access"),
]


def template_of(vertical: str) -> Template:
    return ENTRIES[vertical].template


@pytest.mark.parametrize("vertical", sorted(CLOCKED))
def test_a_process_whose_law_sets_a_time_has_its_clocks(vertical: str) -> None:
    template = template_of(vertical)
    assert {clock.id for clock in template.clocks} == CLOCKED[vertical]
    assert all(clock.source and clock.escalate for clock in template.clocks)


@pytest.mark.parametrize(("vertical", "source", "clock"), TIMED)
def test_a_rule_that_sets_a_time_is_enforced_by_its_clock(vertical: str, source: str, clock: str) -> None:
    (rule,) = [one for one in ENTRIES[vertical].rules if one.source == source]
    assert clock in rule.enforced_by


@pytest.mark.parametrize("vertical", sorted(CLOCKED))
def test_whoever_decides_under_a_clock_has_time_that_ends_before_it_does(vertical: str) -> None:
    template = template_of(vertical)
    anchored = [one.policy.deadline for one in template.nodes if isinstance(one.policy.deadline, AnchoredDeadline)]
    assert anchored
    assert {one.clock for one in anchored} <= CLOCKED[vertical]
    assert all(one.before not in ("PT0S", "P0D") for one in anchored)


@pytest.mark.parametrize("vertical", sorted(ENTRIES))
def test_every_function_that_decides_is_one_that_the_process_names(vertical: str) -> None:
    template = template_of(vertical)
    asked = {one.policy.function for one in template.nodes if one.policy.function is not None}
    assert asked == {*template.functions}


def test_who_a_report_is_about_neither_reads_nor_decides_and_strangers_do_not_read() -> None:
    template = template_of("suspicious-activity-report")
    assert template.subjects == ("inputs.subject_email",)
    assert template.readers is not None
    assert (template.readers.role, template.readers.groups) == (None, ())
    assert {*template.readers.functions} == {*template.functions}


@pytest.mark.parametrize(
    "vertical",
    [
        "aml",
        "customer-onboarding",
        "currency-transaction-report",
        "insurance-claim",
        "security-incident",
        "siu-referral",
    ],
)
def test_a_suspicion_or_an_incident_is_read_by_those_who_work_on_it_alone(vertical: str) -> None:
    template = template_of(vertical)
    assert template.readers is not None
    assert (template.readers.role, template.readers.groups, template.readers.starter) == (None, (), True)
    assert {*template.readers.functions} == {*template.functions}


def test_a_report_that_the_officer_does_not_sign_goes_to_a_higher_role_and_another_person() -> None:
    template = template_of("suspicious-activity-report")
    assert template.node("file-sar").duty == "what-is-reported"
    (denied,) = [edge.target for edge in template.leaving("bsa-signoff") if edge.branch == "denied"]
    overruled = template.node(denied)
    assert (overruled.role, "gate:bsa-signoff" in overruled.policy.four_eyes) == ("admin", True)

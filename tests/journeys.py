"""The journeys through the shipped templates: what is sent, where the run parks, what a human
decides, how it ends.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any, Literal

Verdict = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Journey:
    """One way through a template.

    `verdicts` are the decisions that the run asks for with `auto_resolve` true, in the order in
    which its gates open; `branches` are those that the autopilot takes at gateways, and a human
    with `auto_resolve` false.
    """

    vertical: str
    name: Literal["clean", "escalated"]
    inputs: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    branches: tuple[Verdict, ...]
    outcome: str

    def __str__(self) -> str:
        """The name in a test report."""
        return f"{self.vertical}-{self.name}"


class Human:
    """Whoever answers the gates of a journey, in whatever order they open."""

    def __init__(self, journey: Journey) -> None:
        """Learn what to decide at each gate, the first visit first."""
        self._answers: dict[str, deque[str]] = defaultdict(deque)
        for gate, decision in (*journey.verdicts, *journey.branches):
            self._answers[gate].append(decision)

    def decide(self, gate: str) -> str:
        """The decision at this visit of a gate: the journey's, else `approved`."""
        return self._answers[gate].popleft() if self._answers[gate] else "approved"


JOURNEYS: tuple[Journey, ...] = (
    Journey(
        "prior-auth",
        "clean",
        {
            "member_id": "M-1",
            "procedure_code": "72148",
            "diagnosis": "M54.16",
            "conservative_therapy_weeks": 8,
        },
        (("signoff", "approved"),),
        (("criteria", "criteria met"),),
        "authorized",
    ),
    Journey(
        "prior-auth",
        "escalated",
        {"member_id": "M-1", "procedure_code": "72148", "diagnosis": "M54.16", "appealed": True},
        (("signoff", "denied"), ("appeal-review", "approved")),
        (("criteria", "more information needed"), ("records-there", "they came"), ("appealed", "appealed")),
        "authorized",
    ),
    Journey(
        "aml",
        "clean",
        {
            "customer_name": "Ada Marsh",
            "customer_country": "US",
            "customer_dob": "1984-02-29",
            "risk_band": "low",
        },
        (("bsa-gate", "onboarding approved"),),
        (("exposure", "standard diligence"), ("alerted", "no alert")),
        "onboarded",
    ),
    Journey(
        "aml",
        "escalated",
        {
            "customer_name": "Ada Marsh",
            "customer_country": "US",
            "customer_dob": "1984-02-29",
            "risk_band": "high",
        },
        (("bsa-gate", "onboarding approved"), ("alert-review", "SAR signed")),
        (("exposure", "enhanced diligence"), ("alerted", "alert")),
        "sar_filed",
    ),
    Journey(
        "collections",
        "clean",
        {"account_id": "AC-1", "balance": 1840.55, "disputed": False},
        (("signoff", "approved"),),
        (("may-contact", "no finding"), ("disputed", "not disputed"), ("plan-answer", "accepted")),
        "plan_agreed",
    ),
    Journey(
        "collections",
        "escalated",
        {"account_id": "AC-1", "balance": 1840.55, "disputed": True},
        (("signoff", "approved"), ("dispute-review", "denied")),
        (("may-contact", "no finding"), ("disputed", "disputed"), ("verified", "answered")),
        "closed",
    ),
    Journey(
        "chargeback-representment",
        "clean",
        {"dispute_id": "D-1", "reason_code": "10.4", "amount": 249.0, "network": "visa"},
        (("signoff", "approved"),),
        (("worth-fighting", "fight"), ("issuer-answer", "accepted")),
        "won",
    ),
    Journey(
        "chargeback-representment",
        "escalated",
        {"dispute_id": "D-1", "reason_code": "10.4", "amount": 19.99, "network": "visa"},
        (("accept-signoff", "approved"),),
        (("worth-fighting", "accept the loss"),),
        "accepted",
    ),
    Journey(
        "sanctions-screening",
        "clean",
        {"payment_id": "P-1", "counterparty": "Blue Harbor", "match_score": 21},
        (),
        (("matched", "no match"),),
        "released",
    ),
    Journey(
        "sanctions-screening",
        "escalated",
        {"payment_id": "P-1", "counterparty": "Blue Harbor", "match_score": 96},
        (("officer-review", "false positive"), ("second-review", "look again"), ("officer-again", "true match")),
        (("matched", "possible match"),),
        "blocked",
    ),
    Journey(
        "insurance-claim",
        "clean",
        {"claim_id": "CL-1", "policy_id": "HO-1", "claimed_amount": 1450, "prior_claims": 0},
        (("pay-claim", "approved"),),
        (("triage", "fast track"),),
        "paid",
    ),
    Journey(
        "insurance-claim",
        "escalated",
        {"claim_id": "CL-1", "policy_id": "HO-1", "claimed_amount": 32000, "prior_claims": 4},
        (("adjuster-review", "settle"), ("pay-settled", "approved")),
        (("triage", "adjuster"), ("suspected", "settled")),
        "paid",
    ),
    Journey(
        "loan-underwriting",
        "clean",
        {"application_id": "LA-1", "amount": 15000, "credit_score": 742, "dti": 0.29},
        (("fund-loan", "approved"),),
        (("policy", "within policy"), ("accepted", "accepted")),
        "funded",
    ),
    Journey(
        "loan-underwriting",
        "escalated",
        {"application_id": "LA-1", "amount": 15000, "credit_score": 611, "dti": 0.51},
        (("underwriter-review", "decline"), ("sign-notice", "approved")),
        (("policy", "refer"),),
        "declined",
    ),
    Journey(
        "invoice-approval",
        "clean",
        {
            "invoice_id": "I-1",
            "vendor_id": "V-1",
            "amount": 4200,
            "currency": "USD",
            "po_amount": 4200,
            "seen_before": False,
        },
        (("release", "approved"),),
        (("route", "straight through"),),
        "paid",
    ),
    Journey(
        "invoice-approval",
        "escalated",
        {
            "invoice_id": "I-1",
            "vendor_id": "V-1",
            "amount": 4900,
            "currency": "USD",
            "po_amount": 4200,
            "seen_before": True,
        },
        (
            ("controller-review", "approve"),
            ("post", "approved"),  # the look-alike's signal
            ("release", "approved"),
        ),
        (("route", "controller"),),
        "paid",
    ),
    Journey(
        "vendor-onboarding",
        "clean",
        {"vendor_name": "Fernhill", "bank_account": "0210 44", "tax_id": "12-3456789", "handles_personal_data": False},
        (("bank-callback", "approved"),),
        (("risk", "low risk"),),
        "active",
    ),
    Journey(
        "vendor-onboarding",
        "escalated",
        {"vendor_name": "Fernhill", "bank_account": "0210 44", "tax_id": "12-3456789", "handles_personal_data": True},
        (("risk-review", "approved"), ("bank-callback", "approved")),
        (("risk", "needs a decision"),),
        "active",
    ),
    Journey(
        "access-request",
        "clean",
        {"person": "e.novak", "system": "crm", "entitlement": "standard", "days": 90, "conflicting_duty": False},
        (),
        (("privilege", "standard"),),
        "granted",
    ),
    Journey(
        "access-request",
        "escalated",
        {"person": "e.novak", "system": "erp", "entitlement": "privileged", "days": 90, "conflicting_duty": True},
        (("owner-approval", "approved"), ("security-approval", "approved")),
        (("privilege", "to be signed"),),
        "granted",
    ),
    Journey(
        "production-change",
        "clean",
        {"change_id": "CHG-1", "service": "billing", "standard": True, "canary": "healthy"},
        (),
        (("change-type", "standard"), ("health", "healthy")),
        "deployed",
    ),
    Journey(
        "production-change",
        "escalated",
        {"change_id": "CHG-1", "service": "billing", "standard": False, "canary": "failing"},
        (
            ("peer-review", "approved"),
            ("security-review", "approved"),
            ("change-approval", "approved"),
            ("incident", "deploy again"),
            ("incident", "roll back"),
        ),
        (("change-type", "normal"), ("health", "unhealthy"), ("health", "unhealthy")),
        "rolled_back",
    ),
    Journey(
        "refund",
        "clean",
        {"order_id": "O-1", "amount": 39.9, "days_since_delivery": 5, "refunds_this_year": 0},
        (),
        (("policy", "inside"), ("covered", "as much"), ("suspicious", "free")),
        "refunded",
    ),
    Journey(
        "refund",
        "escalated",
        {"order_id": "O-1", "amount": 890, "days_since_delivery": 31, "refunds_this_year": 2},
        (("supervisor", "denied"),),
        (("policy", "outside"), ("withdrawn", "not withdrawn")),
        "refused",
    ),
    Journey(
        "employee-offboarding",
        "clean",
        {"employee_id": "E-1", "involuntary": False, "under_legal_hold": False},
        (("final-pay", "approved"), ("wipe-devices", "approved")),
        (("timing", "on the last day"), ("hold", "no hold"), ("held-again", "no hold")),
        "offboarded",
    ),
    Journey(
        "employee-offboarding",
        "escalated",
        {"employee_id": "E-1", "involuntary": True, "under_legal_hold": True},
        (("cut-off", "approved"), ("final-pay", "approved")),
        (("timing", "at once"), ("hold", "hold")),
        "preserved",
    ),
    Journey(
        "data-subject-erasure",
        "clean",
        {"request_id": "DSR-1", "identity_proven": True, "retention_duty": False},
        (("erase", "approved"),),
        (("proven", "proven"), ("exception", "nothing"), ("extent", "all")),
        "erased",
    ),
    Journey(
        "data-subject-erasure",
        "escalated",
        {"request_id": "DSR-1", "identity_proven": False, "retention_duty": True},
        (
            ("identity-review", "enough"),
            ("dpo-review", "erase in part"),
            ("erase", "approved"),
        ),
        (
            ("proven", "not proven"),
            ("exception", "something"),
            ("ground", "a ground to keep a part"),
            ("extent", "in part"),
        ),
        "erased_in_part",
    ),
)
FIRST = sorted({journey.vertical for journey in JOURNEYS})
"""The processes with journeys; `tests/library` plays all of them."""

"""A call of duty, which nobody denies: what its gate offers and says."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.endpoint import Endpoint
from tests.ui.service import Company, Service

RULE = {"id": "law", "source": "GDPR 33", "says": "The authority is told.", "not_enforced": "An example"}
SEND = {"id": "send", "kind": "task", "label": "Tell the authority", "tool": "authority", "duty": "law", "next": "told"}


def parked(company: Company, effect: str) -> Any:
    """A run whose steps all wait, at its call of duty."""
    gate = {"id": "draft", "kind": "gate", "label": "Draft", "tier": "high"}
    above = {**gate, "id": "above", "role": "admin", "four_eyes": ["gate:draft"]}
    steps = [
        {**gate, "next": {"approved": "send", "denied": "above"}},
        {**above, "next": {"approved": "send", "denied": "send"}},
        {**SEND, "effect": effect},
        {"id": "told", "kind": "end", "label": "Told", "outcome": "told"},
    ]
    company.send(
        "PUT", "/process-templates/duty/draft", {"vertical": "duty", "title": "Duty", "rules": [RULE], "steps": steps}
    )
    company.send("POST", "/process-templates/duty/publish", {})
    return company.resume(company.start("duty", {}, auto=False), "draft")


def test_a_call_of_duty_is_approved_and_its_gate_says_why_it_is_not_denied(window: Window, company: Company) -> None:
    page = window.gate(parked(company, "irreversible"))
    expect(page.get_by_role("radio")).to_have_count(1)
    expect(page.get_by_role("region", name="Rules of this gate")).to_contain_text("It is a duty: nobody may deny it.")
    expect(page.locator(".effects")).to_contain_text("Dry run on “Approve”")
    decide(page, "Approve")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()


def test_a_call_of_duty_in_doubt_is_sent_again_or_marked_as_done(
    window: Window, company: Company, endpoint: Endpoint
) -> None:
    company.send("PUT", "/connectors/authority", endpoint.connector("/break"))
    run = parked(company, "irreversible")
    page = window.gate(company.resume(run, "send", digest=run["gate"]["digest"]))
    expect(page.get_by_role("radio")).to_have_count(2)
    expect(page.get_by_role("region", name="Rules of this gate")).to_contain_text("It is a duty: nobody may deny it.")
    decide(page, "Mark as done")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()


@pytest.mark.parametrize(
    ("locale", "deny", "why"),
    [
        ("en-US", "Deny…", "It does not offer this decision: open it to decide."),
        ("de-DE", "Ablehnen…", "Sie bietet diese Entscheidung nicht an: zum Entscheiden öffnen."),
        ("es-ES", "Denegar…", "No ofrece esta decisión: ábrala para decidir."),
    ],
)
def test_a_call_of_duty_is_left_out_of_denials_for_what_it_does_not_offer(
    windows: Windows, service: Service, company: Company, locale: str, deny: str, why: str
) -> None:
    parked(company, "reversible")
    window = windows(service.url, locale=locale)
    window.sign_in_by_cookie(company)
    page = window.open()
    page.get_by_role("checkbox").last.check()
    page.get_by_role("button", name=deny).click()
    expect(page.get_by_role("dialog")).to_contain_text(why)

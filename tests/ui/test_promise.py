"""What an approval can send is listed as the service says it, what is missing is asked for, and a change is told."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, Request, Route, expect

from tests.ui.answers import REACH, answered
from tests.ui.browser import Window, decide
from tests.ui.service import Company


def test_a_live_call_behind_a_sign_off_is_listed_as_sent_for_real(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    answered(window.page, run, lambda gate: gate.update(effects=[REACH, {**REACH, "step_id": "b", "mode": "shadow"}]))
    page = window.gate(run)
    effects = page.locator(".effects")
    expect(effects).to_contain_text("What this approval can send")
    expect(effects).to_contain_text("1 of 2 calls can be sent for real and cannot be undone.")
    expect(effects.locator(".effect-live")).to_contain_text("https://bank.example.com/pay")
    expect(effects.locator(".effect-live")).to_contain_text("version 3 of its connector")
    expect(effects.locator(".effect-shadow")).to_contain_text("Dry run")
    expect(page.get_by_text("nothing is sent", exact=False)).to_have_count(0)


def test_a_dry_run_is_said_to_be_one_by_the_service_alone(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    answered(window.page, run, lambda gate: gate.update(effects=[{**REACH, "mode": "shadow", "connector": None}]))
    page = window.gate(run)
    expect(page.locator(".effects")).to_contain_text("Dry run: 1 call that cannot be undone is recorded")
    answered(window.page, run, lambda gate: gate.pop("effects", None))
    page.reload()
    expect(page.get_by_role("radio", name="Approve")).to_be_visible()
    expect(page.get_by_text("Shadowed: nothing is sent")).to_have_count(0)


def test_a_gate_that_changed_takes_no_decision_before_a_fresh_look(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    now = {"effects": [{**REACH, "mode": "shadow"}], "digest": "sha256:before"}
    answered(window.page, run, lambda gate: gate.update(now))
    sent: list[Request] = []
    window.page.on("request", lambda request: sent.append(request) if request.url.endswith("/resume") else None)
    page = window.gate(run)
    page.get_by_role("radio", name="Approve").check()
    now |= {"effects": [REACH], "digest": "sha256:after"}
    told(page, run)
    expect(page.get_by_text("This gate changed since you opened it")).to_be_visible(timeout=1_500)
    expect(page.locator(".changes")).to_contain_text("was a dry run, and is sent for real now")
    expect(page.get_by_role("button", name="Confirm: Approve")).to_be_disabled()
    assert sent == []
    page.get_by_role("button", name="Show me how it is now").click()
    expect(page.locator(".effect-live")).to_be_visible()
    decide(page, "Approve")
    expect(page.get_by_role("alert")).to_be_visible()
    assert [request.post_data_json["digest"] for request in sent] == ["sha256:after"]


def told(page: Page, run: Any) -> None:
    """The stream, taken up anew, says that the gate has changed."""
    event = f'{{"type": "gate_changed", "run_id": "{run["id"]}", "step_id": "signoff"}}'

    def stream(route: Route) -> None:
        route.fulfill(content_type="text/event-stream", body=f"event: gate_changed\ndata: {event}\n\n")

    page.route("**/events", stream, times=1)
    page.evaluate("() => { window.dispatchEvent(new Event('offline')); window.dispatchEvent(new Event('online')); }")


def test_what_is_missing_is_asked_for_and_sent_with_the_decision(window: Window, company: Company) -> None:
    run = company.start("loan-underwriting")
    answered(window.page, run, lambda gate: gate.update(missing=["/inputs/amount", "/inputs/application_id"]))
    sent: list[Request] = []
    window.page.on("request", lambda request: sent.append(request) if request.url.endswith("/resume") else None)
    page = window.gate(run)
    page.get_by_role("radio", name="Approve").check()
    missing = page.get_by_role("group", name="What is missing")
    missing.get_by_label("Amount").fill("much")
    page.get_by_role("button", name="Confirm: Approve").click()
    expect(missing.locator(".field.wrong")).to_contain_text("Is no number")
    assert sent == []
    missing.get_by_label("Amount").fill("15000")
    missing.get_by_label("Application id").fill("LA-1")
    with page.expect_request("**/resume"):
        page.get_by_role("button", name="Confirm: Approve").click()
    assert [request.post_data_json["inputs"] for request in sent] == [{"amount": 15000, "application_id": "LA-1"}]


def test_a_denial_needs_nothing_of_what_is_missing(window: Window, company: Company) -> None:
    run = company.start("loan-underwriting")
    answered(window.page, run, lambda gate: gate.update(missing=["/inputs/amount"]))
    page = window.gate(run)
    page.get_by_role("radio", name="Approve").check()
    expect(page.get_by_role("group", name="What is missing")).to_be_visible()
    page.get_by_role("radio", name="Deny").check()
    expect(page.get_by_role("group", name="What is missing")).to_have_count(0)
    decide(page, "Deny")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()

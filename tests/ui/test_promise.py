"""A gate lists the calls it can send, asks for missing inputs, and reports changes."""

from __future__ import annotations

from playwright.sync_api import Request, expect

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.responses import patch_gates
from tests.ui.service import Company, Service

LIVE = {"base_url": "https://payer.example.com", "path": "/issue", "method": "POST", "reversible": True}
# Within a second, and some time for a browser on a busy machine.
NOTICED_MS = 2_000


def test_a_live_call_behind_a_sign_off_is_listed_as_sent_for_real(window: Window, company: Company) -> None:
    company.send("PUT", "/connectors/authorization-issue", LIVE)
    page = window.gate(company.start("prior-auth"))
    effects = page.locator(".effects")
    live = effects.locator(".effect-live")
    expect(live).to_contain_text("https://payer.example.com/issue")
    expect(live).to_contain_text("version 1 of its connector")
    expect(live).to_contain_text("on “Approve”")
    expect(effects).to_contain_text("can be sent live.")
    expect(page.locator(".choice", has_text="Approve").locator(".live-note")).to_contain_text("sent live")
    expect(page.get_by_text("nothing is sent")).to_have_count(0)


def test_a_dry_run_is_said_to_be_one_by_the_service(window: Window, company: Company) -> None:
    page = window.gate(company.start("prior-auth"))
    expect(page.locator(".effects")).to_contain_text("Dry run")
    expect(page.locator(".effect-live")).to_have_count(0)
    expect(page.get_by_text("Dry run: nothing is sent")).to_have_count(0)


def test_a_gate_that_changed_takes_no_decision_before_a_fresh_look(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    sent: list[Request] = []
    window.page.on("request", lambda request: sent.append(request) if request.url.endswith("/resume") else None)
    page = window.gate(run)
    page.get_by_role("radio", name="Approve").check()
    company.send("PUT", "/connectors/authorization-issue", LIVE)
    expect(page.get_by_text("This gate has changed since you opened it")).to_be_visible(timeout=NOTICED_MS)
    expect(page.get_by_text("Connection lost")).to_have_count(0)
    expect(page.locator(".changes")).to_contain_text("was a dry run and is now live")
    expect(page.get_by_role("button", name="Confirm: Approve")).to_have_count(0)
    expect(page.locator(".effect-live")).to_have_count(0)
    assert sent == []
    page.get_by_role("button", name="Show the current version").click()
    expect(page.locator(".effect-live")).to_be_visible()
    expect(page.get_by_role("radio", name="Approve")).not_to_be_checked()
    stands = company.run(run)["gate"]["digest"]
    decide(page, "Deny")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert [(request.post_data_json or {})["digest"] for request in sent] == [stands]
    assert stands != run["gate"]["digest"]


def test_the_inbox_says_at_once_that_a_gate_leads_to_a_live_call(window: Window, company: Company) -> None:
    company.start("prior-auth")
    page = window.open()
    expect(page.locator(".row")).to_contain_text("Dry run")
    company.send("PUT", "/connectors/authorization-issue", LIVE)
    expect(page.locator(".row")).to_contain_text("Live")


def test_every_window_at_a_gate_hears_of_the_change(windows: Windows, service: Service, company: Company) -> None:
    run = company.start("prior-auth")
    pages = [windows(service.url).enter(company).gate(run) for _ in range(2)]
    for page in pages:
        expect(page.locator(".effect-shadow").first).to_be_visible()
    for path in ("/issue", "/issue/v2"):
        company.send("PUT", "/connectors/authorization-issue", {**LIVE, "path": path})
        for page in pages:
            expect(page.get_by_text("This gate has changed since you opened it")).to_be_visible(timeout=NOTICED_MS)
            page.get_by_role("button", name="Show the current version").click()
            expect(page.locator(".effect-live")).to_contain_text(f"payer.example.com{path}")


def test_what_is_missing_is_asked_for_and_sent_with_the_decision(window: Window, company: Company) -> None:
    run = company.start("loan-underwriting")
    patch_gates(window.page, run, lambda gate: gate.update(missing=["/amount", "/application_id"]))
    sent: list[Request] = []
    window.page.on("request", lambda request: sent.append(request) if request.url.endswith("/resume") else None)
    page = window.gate(run)
    page.get_by_role("radio", name="Approve").check()
    missing = page.get_by_role("group", name="Missing inputs")
    missing.get_by_label("Amount").fill("much")
    page.get_by_role("button", name="Confirm: Approve").click()
    expect(missing.locator(".field.wrong", has_text="Amount")).to_contain_text("Must be a number")
    expect(missing.locator(".field.wrong", has_text="Application")).to_contain_text("Required")
    assert sent == []
    missing.get_by_label("Amount").fill("15000")
    missing.get_by_label("Application").fill("LA-1")
    with page.expect_request("**/resume"):
        page.get_by_role("button", name="Confirm: Approve").click()
    assert [(request.post_data_json or {})["inputs"] for request in sent] == [
        {"amount": 15000, "application_id": "LA-1"}
    ]


def test_a_denial_needs_nothing_of_what_is_missing(window: Window, company: Company) -> None:
    run = company.start("loan-underwriting")
    patch_gates(window.page, run, lambda gate: gate.update(missing=["/amount"]))
    page = window.gate(run)
    page.get_by_role("radio", name="Approve").check()
    expect(page.get_by_role("group", name="Missing inputs")).to_be_visible()
    page.get_by_role("radio", name="Deny").check()
    expect(page.get_by_role("group", name="Missing inputs")).to_have_count(0)
    decide(page, "Deny")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()

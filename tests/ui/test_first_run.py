"""The first run: what a new company is led to, what it uses, what that needs, and what is asked."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.people import colleague, members_path
from tests.ui.service import Company, Service
from tests.ui.test_access import assert_accessible, needs_axe

BANK = {
    "base_url": "http://127.0.0.1:9",
    "method": "POST",
    "path": "/transfers",
    "reversible": True,
    "body_map": {"order": "inputs.order_id", "sum": "inputs.amount"},
}
LARGE = {"order_id": "O-61822", "amount": 333.1, "days_since_delivery": 30}
OWN: dict[str, Any] = {
    "vertical": "petty-cash",
    "title": "Petty cash",
    "steps": [
        {"id": "ok", "kind": "gate", "label": "Sign-off", "next": "e"},
        {"id": "e", "kind": "end", "label": "Done", "outcome": "done"},
    ],
}


def steps_done(page: Page) -> Any:
    return page.locator(".first-steps li.done strong")


def test_the_first_steps_are_checked_off_as_a_company_takes_them_and_go_when_all_are(
    window: Window, company: Company
) -> None:
    page = window.page
    expect(page.get_by_role("link", name="Invite a colleague")).to_be_visible()
    expect(steps_done(page)).to_have_count(0)
    page.get_by_role("link", name="Draw your own process").click()
    expect(page.get_by_role("dialog", name="New process")).to_be_visible()
    run = company.start("prior-auth")
    company.resume(run, run["parked_at"])
    company.send("PUT", "/connectors/refund-transfer", BANK)
    window.open()
    expect(steps_done(page)).to_have_text(["Try the example", "Connect a tool"])
    company.send("POST", members_path(company), {"email": "mo@example.test", "role": "member"})
    page.reload()
    expect(steps_done(page)).to_have_count(3)
    company.send("PUT", "/process-templates/petty-cash/draft", OWN)
    company.send("POST", "/process-templates/petty-cash/publish")
    page.reload()
    expect(page.get_by_role("heading", name="You are up to date")).to_be_visible()


def test_a_member_is_not_led_to_what_only_an_admin_may_do_and_may_hide_the_list(
    windows: Windows, service: Service, company: Company
) -> None:
    company.send("PUT", "/connectors/refund-transfer", BANK)
    page = windows(service.url).enter(colleague(company, "Mo", "member")).page
    expect(page.get_by_role("link", name="Draw your own process")).to_be_visible()
    expect(steps_done(page)).to_have_text(["Connect a tool", "Invite a colleague"])
    page.get_by_role("button", name="Hide this list").click()
    page.reload()
    expect(page.get_by_role("heading", name="You are up to date")).to_be_visible()


def test_an_admin_takes_a_template_and_sees_which_tools_it_needs(window: Window, company: Company) -> None:
    company.send("PUT", "/connectors/refund-transfer", BANK)
    page = window.open("templates")
    page.get_by_label("Pack").select_option("Payments and disputes")
    expect(page.get_by_role("list", name="Lending and collections")).to_have_count(0)
    page.get_by_role("button", name="Preview: Refund").click()
    preview = page.get_by_role("dialog", name="Refund")
    expect(preview.locator(".gates li")).to_contain_text(
        ["Supervisor approves 2 days before the clock “Refund or answer” is due"]
    )
    expect(preview.get_by_label("Graph of the process").get_by_text("Supervisor approves")).to_be_visible()
    preview.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Use this: Refund").click()
    dialog = page.get_by_role("dialog", name="Refund is in use")
    expect(dialog.get_by_text("4 tools are not connected")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_role("list", name="In use").locator(".tile h3")).to_have_text(["Refund"])
    page = window.open("connectors")
    expect(page.get_by_role("list", name="Connected").locator(".row")).to_have_count(1)
    expect(page.get_by_role("list", name="Needed").locator(".row")).to_have_count(4)
    page.get_by_role("link", name="order-fetch").click()
    expect(page.get_by_role("heading", name="order-fetch", level=1)).to_be_visible()


def test_a_gate_asks_about_the_thing_and_each_decision_shows_the_request_that_it_sends(
    window: Window, company: Company
) -> None:
    company.send("PUT", "/connectors/refund-transfer", BANK)
    page = window.gate(company.start("refund", LARGE))
    expect(page.get_by_role("heading", name="Refund 333.10 for order O-61822?", level=1)).to_be_visible()
    approve, deny = page.locator(".choice").all()
    expect(approve).to_contain_text("POST http://127.0.0.1:9/transfers")
    expect(approve.locator("pre")).to_contain_text('"sum": 333.1')
    expect(deny).to_contain_text("Explain why not")
    expect(deny.locator(".request")).to_have_count(0)
    assert page.evaluate("document.fonts.check('16px Inter')")
    window.open()
    expect(page.get_by_role("link", name="Refund 333.10 for order O-61822?")).to_be_visible()


@needs_axe
@pytest.mark.parametrize("place", ["inbox", "connectors", "gate"])
def test_the_first_run_is_accessible(window: Window, company: Company, place: str) -> None:
    page = window.page
    if place != "inbox":
        company.send("PUT", members_path(company).replace("members", "policy"), {"templates": ["refund"]})
        company.send("PUT", "/connectors/refund-transfer", BANK)
    if place == "inbox":
        expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    elif place == "gate":
        window.gate(company.start("refund", LARGE))
        expect(page.locator(".request")).to_have_count(1)
    else:
        window.open("connectors")
        expect(page.get_by_role("list", name="Needed")).to_be_visible()
    assert_accessible(page)

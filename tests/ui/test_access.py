"""Accessibility: axe on every page, light and dark, wide and narrow; keyboard navigation."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.browser import AXE, NARROW, WIDE, Window, decide
from tests.ui.conftest import Windows
from tests.ui.editor import add, choose, trying
from tests.ui.endpoint import Endpoint
from tests.ui.responses import PLANNED_CALL, patch_gates
from tests.ui.service import Company, Service

ALL = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# In the dark nothing but the colours is another.
COLOURS = {"type": "rule", "values": ["color-contrast"]}
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe is not installed: npm ci in daemon/ui")

DOCS_MS = 60_000
"""All operations on one page take a busy machine long."""


def violations(page: Page, rules: dict[str, Any]) -> list[str]:
    found: Any = page.evaluate("rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", rules)
    return [f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in found["violations"]]


def assert_accessible(page: Page) -> None:
    """Under all four: the same page, its colours and its width changed."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for size in (WIDE, NARROW):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        assert violations(page, ALL) == [], (page.url, size)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        assert violations(page, COLOURS) == [], (page.url, size)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (page.url, size)


@needs_axe
def test_signing_in_is_accessible(windows: Windows, service: Service) -> None:
    page = windows(service.url).page
    page.goto(service.url)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Create an account").click()
    page.get_by_role("button", name="Create the account").click()
    expect(page.locator(".field.wrong").first).to_be_visible()
    assert_accessible(page)


@needs_axe
@pytest.mark.parametrize("place", ["inbox", "gate", "after", "runs", "run"])
def test_deciding_is_accessible(window: Window, company: Company, place: str) -> None:
    run = company.start("loan-underwriting", {"application_id": "LA-1", "amount": 10})
    company.start("fork")
    page = window.page
    if place == "inbox":
        window.open()
        expect(page.locator(".row")).to_have_count(3)
    elif place == "gate":
        window.gate(run)
        expect(page.locator(".preview").first).to_be_visible()
    elif place == "after":
        company.resume(run, run["parked_at"], run["gate"]["decisions"][0])
        window.gate(run)
        expect(page.get_by_role("heading", name="You decided this")).to_be_visible()
    elif place == "runs":
        window.open("runs")
        expect(page.locator(".row")).to_have_count(2)
    else:
        window.open("runs", run["id"])
        page.locator(".node.state-parked").click()
        expect(page.locator(".detail")).to_be_visible()
    assert_accessible(page)


@needs_axe
@pytest.mark.parametrize("place", ["", "gates", "decisions", "calls", "steps", "cleared", "connectors"])
def test_numbers_are_accessible(window: Window, company: Company, place: str) -> None:
    """Each list has rows: a gate, a decision, a failed call, and steps."""
    call = {"base_url": "http://127.0.0.1:9", "method": "GET", "reversible": True, "retries": 0}
    company.send("PUT", "/connectors/chart-fetch", call)
    company.start("prior-auth")
    company.send("DELETE", "/connectors/chart-fetch")
    company.start("prior-auth")
    run = company.start("prior-auth")
    company.resume(run, run["parked_at"], run["gate"]["decisions"][0])
    page = window.open("dashboard", place)
    expect(page.locator("table.data").first).to_be_visible()
    if place == "":
        for summary in page.get_by_text("Show as a table").all():
            summary.click()
    assert_accessible(page)


@needs_axe
@pytest.mark.parametrize(
    "place",
    [
        "templates",
        "templates/prior-auth",
        "templates/prior-auth/edit",
        "connectors",
        "connectors/loan-fund",
        "audit",
        "autonomy",
        "people",
        "account",
    ],
)
def test_the_rest_is_accessible(window: Window, company: Company, place: str) -> None:
    company.start("prior-auth")
    window.page.goto(f"{window.url}/#/{place}")
    expect(window.page.locator("h1")).to_be_visible()
    expect(window.page.locator(".skeleton")).to_have_count(0)
    assert_accessible(window.page)


@needs_axe
def test_the_documentation_is_accessible(windows: Windows, service: Service) -> None:
    """A few operations and models stand for all, which are written by the same code."""
    page = windows(service.url).page
    page.goto(f"{service.url}/docs", timeout=DOCS_MS)
    page.evaluate(
        "document.querySelectorAll('main article:nth-of-type(12n + 2) ~ article').forEach(one => one.remove())"
    )
    page.locator("main details").first.locator("summary").click()
    expect(page.get_by_role("heading", name="POST /auth/register")).to_be_visible()
    assert_accessible(page)


@needs_axe
def test_the_editor_is_accessible(window: Window, company: Company) -> None:
    page = window.open("templates", "refund", "edit")
    choose(page, "Supervisor approves")
    assert_accessible_from_above(page)
    add(page, "gateway", "Is it large?")
    condition = page.get_by_label("Condition of branch 1")
    condition.fill("inputs.amount >")
    expect(page.locator(".cel-mistake")).to_be_visible()
    expect(page.locator(".node-findings")).to_be_visible()
    condition.fill("inp")
    expect(page.locator(".completions:not([hidden]) li").first).to_be_visible()
    assert_accessible_from_above(page)
    condition.fill("true")
    trying(page)
    assert_accessible_from_above(page)
    for view in ("YAML", "Compare"):
        page.get_by_role("button", name=view).click()
        expect(page.locator(".skeleton")).to_have_count(0)
        assert_accessible_from_above(page)


def assert_accessible_from_above(page: Page) -> None:
    """With nothing below the bar at the bottom of a narrow page half covered by it."""
    page.evaluate("scrollTo(0, 0)")
    assert_accessible(page)


@needs_axe
def test_a_call_that_runs_is_accessible(window: Window, company: Company, endpoint: Endpoint) -> None:
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/slow"))
    page = window.gate(company.start("loan-underwriting"))
    decide(page, "Approve")
    expect(page.get_by_text("Running now: Fund the loan")).to_be_visible()
    assert_accessible(page)


@needs_axe
def test_what_is_told_of_a_doubtful_call_is_accessible(window: Window, company: Company, endpoint: Endpoint) -> None:
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/break"))
    page = window.gate(company.resume(company.start("loan-underwriting"), "fund-loan"))
    page.get_by_role("radio", name="Mark as done").check()
    page.get_by_label("Tool output").fill("reference = PAY-77")
    expect(page.locator(".parsed-output")).to_contain_text("PAY-77")
    assert_accessible(page)


@needs_axe
def test_what_an_approval_can_send_and_what_is_missing_are_accessible(window: Window, company: Company) -> None:
    run = company.start("loan-underwriting")
    proposal = {"gate": run["parked_at"], "decision": "approved", "confidence": 0.9, "comment": "Seen."}
    company.send("POST", f"/process-runs/{run['id']}/proposals", proposal)
    patch_gates(window.page, run, lambda gate: gate.update(effects=[PLANNED_CALL], missing=["/amount"]))
    page = window.gate(run)
    expect(page.get_by_role("region", name="Proposals")).to_be_visible()
    page.get_by_role("radio", name="Approve").check()
    expect(page.get_by_role("group", name="Missing inputs")).to_be_visible()
    assert_accessible(page)


@needs_axe
def test_the_question_before_a_test_is_accessible(window: Window, company: Company, endpoint: Endpoint) -> None:
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/pay"))
    page = window.open("connectors", "loan-fund")
    page.get_by_role("button", name="Send test call").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert_accessible(page)


def test_a_decision_is_made_with_the_keyboard_alone(window: Window, company: Company) -> None:
    company.start("prior-auth")
    page = window.open()
    expect(page.locator(".row")).to_have_count(1)
    keyboard = page.keyboard
    page.locator(".row-main").focus()
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(page.get_by_role("radio", name="Approve")).to_be_visible()
    expect(page.locator("h1")).to_be_focused()
    for _ in range(30):
        keyboard.press("Tab")
        if page.get_by_role("radio", name="Approve").evaluate("one => one === document.activeElement"):
            break
    keyboard.press("Space")
    keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()


def test_the_colours_are_those_that_somebody_chose(window: Window) -> None:
    page = window.page
    page.locator("summary", has_text="Example Health").click()
    page.get_by_label("Dark").check()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"

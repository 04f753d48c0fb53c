"""The dashboard: its numbers, what each leads to, the days in the address, and CSV."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.service import Company, Service


def key_number(page: Page, name: str) -> str:
    return page.get_by_role("link", name=name).locator("strong").inner_text()


def decided(company: Company, *decisions: str) -> None:
    for decision in decisions:
        run = company.start("prior-auth")
        company.resume(run, run["parked_at"], decision)


def test_numbers_lead_to_what_they_count(window: Window, company: Company) -> None:
    decided(company, "approved", "denied")
    company.start("prior-auth")
    page = window.open("dashboard")
    opened = int(key_number(page, "Open gates"))
    assert (opened, key_number(page, "Decided")) == (1, "2")  # a denial waits for an appeal
    assert key_number(page, "Share denied") == "50%"
    expect(page.locator(".chart canvas")).to_have_count(3)
    page.get_by_role("link", name="Open gates").click()
    expect(page.get_by_role("heading", name="Open gates")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(opened)
    page.get_by_role("link", name="Dashboard", exact=True).first.click()
    page.get_by_role("link", name="Share denied").click()
    expect(page.get_by_role("heading", name="Decisions")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", name="Prior authorization")).to_be_visible()


def test_open_gates_of_a_risk_and_age_lead_to_those_gates(window: Window, company: Company) -> None:
    company.start("prior-auth")
    page = window.open("dashboard")
    row = page.get_by_role("region", name="Open gates by risk and age").get_by_role("row", name="High")
    expect(row.get_by_role("cell").nth(0)).to_have_text("1")
    row.get_by_role("link").first.click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", name="Authorize 72148 for member M-204417?")).to_be_visible()


def test_the_autopilots_share_leads_to_the_steps_that_it_cleared(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    alone = [step for step in run["trace"] if step["resolved_by"] == "autopilot"]
    page = window.open("dashboard")
    page.get_by_role("link", name="share").last.click()
    rows = page.get_by_role("region", name="Steps cleared").get_by_role("row")
    expect(rows).to_have_count(len(alone) + 1)
    rows.nth(1).get_by_role("link").click()
    expect(page.get_by_role("heading", name="Steps cleared by the autopilot")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_the_days_stand_in_the_address(window: Window, company: Company) -> None:
    decided(company, "approved")
    page = window.open("dashboard?days=7")
    expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="90 days").click()
    expect(page.get_by_role("link", name="90 days")).to_have_attribute("aria-current", "true")
    assert page.url.endswith("#/dashboard?days=90")
    page.get_by_text("Show as a table").first.click()
    table = page.get_by_role("region", name="Decisions a day")
    expect(table.get_by_role("row")).to_have_count(2)
    table.get_by_role("link", name="1").first.click()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_list_is_downloaded_as_csv(window: Window, company: Company, tmp_path: Path) -> None:
    decided(company, "approved")
    page = window.open("dashboard")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").first.click()
    download.value.save_as(tmp_path / "gates.csv")
    with (tmp_path / "gates.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(one["vertical"], one["step_id"], one["decided"]) for one in rows] == [("prior-auth", "signoff", "1")]


def test_a_company_without_runs_sees_zeros(window: Window) -> None:
    page = window.open("dashboard")
    assert key_number(page, "Open gates") == "0"
    assert key_number(page, "Autopilot\u2019s share") == "\u2013"
    expect(page.get_by_text("No gate is open.")).to_be_visible()


def test_what_a_list_is_narrowed_down_to_is_said_in_the_readers_words(
    windows: Windows, service: Service, company: Company
) -> None:
    decided(company, "denied")
    german = windows(service.url, locale="de-AT")
    german.sign_in_by_cookie(company)
    page = german.page
    query = f"by={company.email}&decision=denied&vertical=prior-auth&step_id=signoff"
    page.goto(f"{service.url}/#/dashboard/decisions?{query}")
    expect(page.locator(".lead")).to_have_text(
        "Von: Ada Marsh · Entscheidung: Abgelehnt · Schritt: Signoff · Vorlage: Prior authorization"
    )
    page.goto(f"{service.url}/#/dashboard/gates?tier=high")
    expect(page.locator(".lead")).to_have_text("Risiko: Hoch")

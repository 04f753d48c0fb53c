"""Runs that are closed to somebody, and what the page tells of broken glass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.ui.browser import Window
from tests.ui.conftest import TEMPLATES, Windows
from tests.ui.people import colleague
from tests.ui.service import Company, Service
from tests.ui.test_changes import policy_of

REASON = "The auditor asks for the file today."
SHORT_HOUR = """
from datetime import timedelta
from actors.core.commands import glass
glass.BROKEN = timedelta(seconds=6)
from daemon.cli import app
app()
"""
"""The service, where broken glass is mended soon."""


def closed(company: Company) -> tuple[Company, Any]:
    """A run of a colleague who alone fills the function that reads it."""
    grace = colleague(company, "Grace", "member")
    me = grace.send("GET", "/auth/me")
    binding = {"investigator": {"groups": [], "members": [me["member_id"]]}}
    company.send("PUT", f"/companies/{me['company']['id']}/functions", binding)
    return grace, grace.start("inquiry", {})


def test_a_run_that_is_closed_to_the_reader_does_not_exist_for_them(window: Window, company: Company) -> None:
    _, run = closed(company)
    page = window.open("runs", run["id"])
    expect(page.get_by_role("alert")).to_contain_text("Not found")
    expect(page.get_by_role("button", name="glass")).to_have_count(0)


def test_who_starts_a_run_that_is_closed_to_them_is_told_that_it_is_started(
    windows: Windows, service: Service, company: Company
) -> None:
    grace, _ = closed(company)
    page = windows(service.url).enter(colleague(company, "Kim", "member")).open("templates", "inquiry")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("The run is started. It is closed to you; others read it.")).to_be_visible()
    started = grace.send("GET", "/process-runs/")[0]
    expect(page.get_by_text(started["id"])).to_be_visible()


def test_lists_that_are_open_show_no_more_of_a_run_once_it_is_closed_to_the_reader(
    windows: Windows, service: Service, company: Company
) -> None:
    company.start("payout")
    other = windows(service.url).enter(colleague(company, "Kim", "member"))
    runs, audit = other.open("runs"), other.open("audit", page=other.tab())
    expect(runs.locator(".row")).to_have_count(1)
    expect(audit.get_by_text("started the run")).to_be_visible()
    company.send("PUT", policy_of(company), {"readers": {"payout": {"role": "admin"}}})
    expect(runs.locator(".row")).to_have_count(0)
    expect(audit.get_by_text("started the run")).to_have_count(0)


@pytest.mark.parametrize("where", ["run", "gate"])
def test_a_page_that_is_open_shows_no_more_of_a_run_once_it_is_closed_to_the_reader(
    windows: Windows, service: Service, company: Company, where: str
) -> None:
    run = company.start("payout")
    other = windows(service.url).enter(colleague(company, "Kim", "member"))
    page = other.gate(run) if where == "gate" else other.open("runs", run["id"])
    expect(page.get_by_role("heading", level=1)).to_contain_text("ayout")
    company.send("PUT", policy_of(company), {"readers": {"payout": {"role": "admin"}}})
    expect(page.get_by_role("alert")).to_contain_text("Not found")
    expect(page.get_by_text("A-1")).to_have_count(0)


def test_an_admin_is_led_from_a_gate_that_may_be_closed_to_what_opens_it(window: Window, company: Company) -> None:
    _, run = closed(company)
    page = window.gate(run)
    page.get_by_role("link", name="Is it closed to you?").click()
    expect(page.get_by_label("Id of the run")).to_have_value(run["id"])


def test_broken_glass_is_told_with_its_reason_to_who_reads_the_run(
    windows: Windows, window: Window, service: Service, company: Company
) -> None:
    grace, run = closed(company)
    there = windows(service.url).enter(grace).open("runs", run["id"])
    expect(there.locator(".history")).to_contain_text("started the run")
    company.send("POST", f"/process-runs/{run['id']}/break-glass", {"reason": REASON})
    expect(there.locator(".history")).to_contain_text("Ada Marsh broke the glass to read this run until ")
    expect(there.locator(".history blockquote")).to_have_text(REASON)
    page = window.open("runs", run["id"])
    expect(page.locator(".history")).to_contain_text("broke the glass to read this run until ")
    page = window.open("audit")
    expect(page.get_by_text("broke the glass to read this run until").first).to_be_visible()


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[Service]:
    """A service whose broken glass is mended within seconds."""
    one = Service(tmp_path, TEMPLATES, program=("-c", SHORT_HOUR))
    one.start()
    yield one
    one.stop()


def test_what_is_read_through_broken_glass_is_shown_no_more_when_its_hour_is_over(
    windows: Windows, hurried: Service
) -> None:
    company = hurried.company()
    _, run = closed(company)
    window = windows(hurried.url).enter(company)
    run_page, gate_page, runs = window.page, window.tab(), window.tab()
    company.send("POST", f"/process-runs/{run['id']}/break-glass", {"reason": REASON})
    window.open("runs", run["id"], page=run_page)
    window.gate(run, page=gate_page)
    window.open("runs", page=runs)
    for page in (run_page, gate_page):
        expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("Inquiry|Findings"))
    expect(runs.locator(".row")).to_have_count(1)
    for page in (run_page, gate_page):
        expect(page.get_by_role("alert")).to_contain_text("Not found")
        expect(page.get_by_role("link", name="Is it closed to you?")).to_be_visible()
    expect(runs.locator(".row")).to_have_count(0)

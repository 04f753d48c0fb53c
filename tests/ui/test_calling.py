"""After a decision: the running call, its outcome, and decisions on calls of unknown outcome."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.endpoint import Endpoint
from tests.ui.service import Company


@pytest.fixture
def loan(company: Company, endpoint: Endpoint) -> Any:
    """A loan that waits to be funded, over a bank that takes its time."""
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/slow"))
    return company.start("loan-underwriting")


@pytest.fixture
def doubted(window: Window, company: Company, endpoint: Endpoint) -> Page:
    """The gate of a call that may or may not have reached the other side."""
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/break"))
    run = company.resume(company.start("loan-underwriting"), "fund-loan")
    assert run["gate"]["reason"] == "outcome unknown"
    return window.gate(run)


def test_who_approves_sees_what_runs_until_it_is_answered(window: Window, loan: Any, endpoint: Endpoint) -> None:
    page = window.gate(loan)
    decide(page, "Approve")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    expect(page.get_by_text("You approved “Fund the loan”.")).to_be_visible()
    expect(page.get_by_text("Running now: Fund the loan")).to_be_visible()
    expect(page.locator(".call-live")).to_contain_text("is in progress")
    expect(page.get_by_text("No action is needed")).to_have_count(0)
    endpoint.release.set()
    expect(page.get_by_text("Running now")).to_have_count(0)
    expect(page.get_by_text("returned a response")).to_be_visible()
    expect(page.locator(".run-state")).to_contain_text("Completed")


def test_who_loads_the_page_again_meanwhile_sees_the_same(window: Window, loan: Any, endpoint: Endpoint) -> None:
    page = window.gate(loan)
    decide(page, "Approve")
    expect(page.get_by_text("Running now: Fund the loan")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="You decided this")).to_be_visible()
    expect(page.get_by_text("Running now: Fund the loan")).to_be_visible()
    expect(page.get_by_text("No action is needed")).to_have_count(0)
    endpoint.release.set()
    expect(page.locator(".run-state")).to_contain_text("Completed")


def test_without_the_stream_the_end_is_noticed_all_the_same(window: Window, loan: Any, endpoint: Endpoint) -> None:
    window.page.route("**/events*", lambda route: route.abort())
    window.page.reload()
    page = window.gate(loan)
    decide(page, "Approve")
    page.reload()
    expect(page.get_by_text("Running now: Fund the loan")).to_be_visible()
    endpoint.release.set()
    expect(page.locator(".run-state")).to_contain_text("Completed")


def test_a_call_that_was_denied_is_not_said_to_have_been_sent(window: Window, company: Company, loan: Any) -> None:
    company.resume(loan, "fund-loan", "denied")
    page = window.open("runs", loan["id"])
    page.get_by_role("button", name="Fund the loan").first.click()
    expect(page.locator(".detail .call-live")).to_contain_text("This call was not sent")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("reference = PAY-77\namount: 15000", {"reference": "PAY-77", "amount": 15000}),
        ('{"reference": "PAY-77", "lines": [1]}', {"reference": "PAY-77", "lines": [1]}),
        ("", {}),
    ],
)
def test_it_was_done_says_what_the_answer_was(
    window: Window, company: Company, doubted: Page, text: str, kept: Any
) -> None:
    doubted.get_by_role("radio", name="Mark as done").check()
    answer = doubted.get_by_label("Tool output")
    answer.fill(text)
    doubted.get_by_role("button", name="Confirm: Mark as done").click()
    expect(doubted.get_by_text("You marked “Fund the loan” as done.")).to_be_visible()
    (run,) = company.send("GET", "/process-runs/")
    assert run["facts"]["fund-loan"] == kept


def test_an_answer_that_cannot_be_read_is_not_sent(window: Window, company: Company, doubted: Page) -> None:
    doubted.get_by_role("radio", name="Mark as done").check()
    doubted.get_by_label("Tool output").fill('{"reference": ')
    doubted.get_by_role("button", name="Confirm: Mark as done").click()
    expect(doubted.locator(".field.wrong")).to_contain_text("Must be JSON, or lines")
    (run,) = company.send("GET", "/process-runs/")
    assert run["status"] == "parked"


def test_a_call_of_unknown_outcome_is_spoken_of_in_whole_sentences(
    window: Window, company: Company, doubted: Page
) -> None:
    expect(doubted.get_by_text("Did the call of “Fund the loan” succeed?")).to_be_visible()
    expect(doubted.get_by_text("asked for the 2nd time")).to_be_visible()
    expect(doubted.get_by_text("waiting for less than a minute")).to_be_visible()
    expect(doubted.locator(".call-live")).to_contain_text("may have been sent")
    decide(doubted, "Send again")
    expect(doubted.get_by_text("You sent “Fund the loan” again.")).to_be_visible()
    expect(doubted.get_by_text("The outcome of “Fund the loan” is unknown.")).to_be_visible()
    (run,) = company.send("GET", "/process-runs/")
    doubted.get_by_role("button", name="Decide again").click()
    expect(doubted.get_by_text("asked for the 3rd time")).to_be_visible()
    page = window.open("runs", run["id"])
    expect(page.locator(".history")).not_to_contain_text("retried")
    expect(page.locator(".history")).to_contain_text("Ada Marsh sent “Fund the loan” again")
    expect(page.locator(".steps")).to_contain_text("Ada Marsh sent it again")


@pytest.mark.parametrize("locale", ["en-US", "de-DE", "es-ES"])
def test_an_unknown_outcome_is_asked_about_in_one_sentence_wherever_its_gate_is_named(
    windows: Windows, company: Company, endpoint: Endpoint, locale: str
) -> None:
    company.send("PUT", "/connectors/loan-fund", endpoint.connector("/break"))
    company.resume(company.start("loan-underwriting"), "fund-loan")
    window = windows(company.service.url, locale=locale)
    window.sign_in_by_cookie(company)
    page = window.open()
    row = page.locator(".table .row")
    expect(row.locator(".row-main")).to_have_text(
        re.compile("“Fund the loan”.*[?]|„Fund the loan“.*[?]|«Fund the loan».*[?]")
    )
    expect(row.locator(".cell-marks .badge")).to_have_count(1)
    assert row.locator(".cell-marks").evaluate("one => one.scrollWidth <= one.clientWidth")
    page = window.open("runs")
    page.locator(".table .row .row-main").click()
    expect(page.get_by_role("main")).to_contain_text("Fund the loan")
    expect(page.get_by_role("main")).not_to_contain_text("nobody saw the answer")

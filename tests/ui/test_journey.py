"""The main journey: sign up, start a run, decide at a gate, see the run complete."""

from __future__ import annotations

import re

from playwright.sync_api import Route, expect

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.service import PASSWORD, Company, Service


def test_a_stranger_signs_up_starts_the_example_decides_and_sees_it_complete(
    windows: Windows, service: Service
) -> None:
    page = windows(service.url).page
    page.goto(service.url)
    page.get_by_role("button", name="Create an account").click()
    page.get_by_label("Company").fill("Harbour Clinic")
    page.get_by_label("Your name").fill("Grace Lind")
    page.get_by_label("E-mail address").fill("grace@harbour.test")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    page.get_by_role("link", name="Try the example").click()
    expect(page.get_by_role("textbox", name="Member optional", exact=True)).to_have_value("M-204417")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", name="Authorize 72148 for member M-204417?", level=1)).to_be_visible()
    expect(page.locator(".choice").get_by_text("Issue the authorization number")).to_be_visible()
    decide(page, "Approve", "As agreed")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    expect(page.get_by_text("Completed")).to_be_visible()
    page.get_by_role("link", name="View the run").click()
    expect(page.get_by_text("As agreed")).to_be_visible()
    expect(page.locator(".node.state-done")).not_to_have_count(0)


def test_a_denial_takes_the_branch_that_was_shown(window: Window, company: Company) -> None:
    run = company.start("prior-auth", {"member_id": "M-204417", "appealed": True})
    page = window.gate(run)
    denial = page.locator(".choice", has_text="Deny")
    expect(denial.get_by_text("Is the denial appealed?")).to_be_visible()
    decide(page, "Deny")
    expect(page.get_by_text("Next in this run")).to_be_visible()
    assert company.run(run)["parked_at"] == "appeal-review"


def test_a_denial_without_a_branch_ends_the_run_as_it_said(window: Window, company: Company) -> None:
    run = company.start("collections")
    page = window.gate(run)
    expect(page.get_by_text("The run ends as denied")).to_be_visible()
    decide(page, "Deny")
    expect(page.get_by_text("Completed")).to_be_visible()
    assert company.run(run)["outcome"] == "denied"


def test_parallel_gates_are_decided_one_after_the_other(window: Window, company: Company) -> None:
    run = company.start("fork")
    page = window.gate(run, "finance")
    decide(page, "Approve")
    page.get_by_role("link", name="Next in this run").click()
    expect(page.get_by_role("heading", name="Legal signs", level=1)).to_be_visible()
    decide(page, "Approve")
    expect(page.get_by_text("Completed")).to_be_visible()
    assert company.run(run)["outcome"] == "signed"


def test_whoever_signs_out_is_out_for_good(windows: Windows, service: Service, company: Company) -> None:
    window = windows(service.url).sign_in(company)
    cookies = window.context.cookies()
    assert {(cookie["httpOnly"], cookie["sameSite"], cookie["path"]) for cookie in cookies} == {
        (True, "Strict", "/"),
        (True, "Strict", "/auth/refresh"),
    }
    page = window.page
    page.locator("summary", has_text="Example Health").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert window.context.cookies() == []
    window.context.add_cookies(cookies)  # type: ignore[arg-type]
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_no_script_of_the_page_can_read_the_token(window: Window) -> None:
    kept = window.page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
    assert "eyJ" not in kept
    assert "penstock_session" not in kept


def test_a_wrong_password_is_said_in_a_sentence(windows: Windows, service: Service, company: Company) -> None:
    page = windows(service.url).page
    page.goto(service.url)
    page.get_by_label("E-mail address").fill(company.email)
    page.get_by_label("Password").fill("wrong horse")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("e-mail address or the password is wrong")


def test_a_session_that_ends_meanwhile_leads_back_to_where_one_was(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.gate(run)

    def lapse(route: Route) -> None:
        window.context.clear_cookies()
        route.continue_()

    page.route("**/resume", lapse)
    decide(page, "Approve")
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    page.get_by_label("E-mail address").fill(company.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Authorize 72148 for member M-204417?", level=1)).to_be_visible()
    assert company.run(run)["status"] == "parked"


def test_a_form_says_what_is_missing_beside_the_field(window: Window) -> None:
    page = window.open("templates", "refund")
    page.get_by_role("button", name="Start the run").click()
    wrong = page.get_by_role("textbox", name="Order")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".field.wrong")).to_have_count(2)
    wrong.fill("O-1")
    page.get_by_label("Amount").fill("-5")
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator(".field.wrong", has_text="Amount")).to_contain_text(re.compile("0"))


def test_every_number_arrives_as_it_was_written(window: Window, company: Company) -> None:
    page = window.open("templates", "refund")
    page.get_by_role("textbox", name="Order").fill("O-1")
    page.get_by_label("Amount").fill("90071992547409931")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("90,071,992,547,409,931").first).to_be_visible()
    (run,) = company.send("GET", "/process-runs/")
    assert run["inputs"]["amount"] == 90071992547409931

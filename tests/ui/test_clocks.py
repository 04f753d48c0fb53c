"""Clocks on the page: what is left, why one stands still, what became of it, and when it is due."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.ui.browser import AXE, NARROW, WIDE, Window, decide
from tests.ui.conftest import Windows
from tests.ui.editor import begin, choose, graph, node, saved, trying
from tests.ui.notice import started
from tests.ui.service import Company, Service

needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe is not installed: npm ci in daemon/ui")


def clocks(page: Page) -> Locator:
    return page.get_by_role("region", name="Clocks")


def meter(page: Page) -> Locator:
    return clocks(page).get_by_role("meter", name="Decision and notice")


def test_a_clock_says_how_much_is_left_when_it_is_due_and_what_moves_it(window: Window, company: Company) -> None:
    company.send("PUT", f"/companies/{company_id(company)}/calendar", {"timezone": "America/New_York"})
    run = started(company, ago=timedelta(days=2))
    page = window.open("runs", run["id"])
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile(r"^4 d 23 h 59 min left of 7 days$"))
    expect(meter(page)).to_have_attribute("aria-valuemax", str(7 * 86_400))
    card = clocks(page)
    expect(card).to_contain_text(re.compile(r"4 d 23 h 59 min left of 7 days"))
    expect(card).to_contain_text(re.compile(r"Due \w+ \d+, \d{4}, \d\d:\d\d:\d\d E[SD]T \(America/New_York\)"))
    expect(card).to_contain_text("It stops when “Send the approval” or “Send the denial” is done.")
    expect(card).to_contain_text("“Extended” at “Review” extends it by 14 days, once “Send the extension” is done.")
    expect(card).to_contain_text("Source: 42 CFR 438.210(d)")


def test_a_clock_is_extended_on_the_page_of_its_gate(window: Window, company: Company) -> None:
    run = started(company, ago=timedelta(days=2))
    page = window.gate(run)
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile("left of 7 days$"))
    rules = page.get_by_role("region", name="Rules of this gate")
    expect(rules).to_contain_text("It is 1 day before the clock “Decision and notice” is due.")
    decide(page, "Extended")
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    page.get_by_role("button", name="Decide again").click()
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile("^18 d 23 h 59 min left of 7 days and 14 days$"))
    expect(clocks(page)).to_contain_text("Extended 1 time, by 14 days.")
    page = window.open("runs", run["id"])
    expect(page.locator(".history")).to_contain_text("The clock “Decision and notice” was extended: due ")


def test_a_clock_stands_still_while_the_run_waits_for_records(window: Window, company: Company) -> None:
    run = started(company, ago=timedelta(days=2), records=True)
    page = window.open("runs", run["id"])
    card = clocks(page)
    expect(card).to_contain_text("Stands still")
    expect(card).to_contain_text("It stands still while “Await records” waits.")
    expect(card).to_contain_text(re.compile(r"Due .* if it goes on now"))
    company.send("POST", f"/process-runs/{run['id']}/messages", {"name": "records"})
    expect(card).to_contain_text("Running")
    expect(card).not_to_contain_text("while “Await records” waits")
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile(r"left of 7 days$"))


def test_a_clock_that_stands_still_is_due_later_the_longer_somebody_looks(window: Window, company: Company) -> None:
    run = started(company, ago=timedelta(days=2), records=True)
    page = window.page
    page.route("**/events", lambda route: route.abort())  # nothing has the run read anew
    page.clock.install()
    page.reload()
    window.open("runs", run["id"])
    due = clocks(page).locator("time")
    before = datetime.fromisoformat(due.get_attribute("datetime") or "")
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile("left of 7 days$"))
    left = meter(page).get_attribute("aria-valuetext")
    page.clock.run_for(35_000)
    expect(clocks(page)).to_contain_text(re.compile("It stood still for [34]\\d s"))
    after = datetime.fromisoformat(due.get_attribute("datetime") or "")
    assert timedelta(seconds=25) < after - before < timedelta(seconds=60)
    expect(meter(page)).to_have_attribute("aria-valuetext", left or "")


def test_an_act_in_time_stops_its_clock_and_is_named(window: Window, company: Company) -> None:
    run = started(company, ago=timedelta(days=2))
    company.resume(run, "review", "approve")
    page = window.open("runs", run["id"])
    expect(clocks(page)).to_contain_text("Stopped by “Send the approval” on ")
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile(r"^Done with 4 d 23 h 59 min \d+ s left of 7 d"))


def test_a_breach_and_a_late_act_are_shown_as_such(window: Window, company: Company) -> None:
    run = started(company, ago=timedelta(days=8), records=True)
    page = window.open("runs", run["id"])
    expect(clocks(page)).to_contain_text("Breached")
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile(r"^Breached: 1 d( \d+ min)? over the 7 days$"))
    expect(page.locator(".history")).to_contain_text("The clock “Decision and notice” was breached")
    company.send("POST", f"/process-runs/{run['id']}/messages", {"name": "records"})
    expect(clocks(page)).to_contain_text("Stopped late")
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile(r"^Done late: 1 d .*over the 7 days$"))
    expect(clocks(page)).to_contain_text("Stopped by “Send the denial” on ")


def test_the_inbox_shows_the_nearer_of_deadline_and_clock_and_which_it_is(window: Window, company: Company) -> None:
    started(company, ago=timedelta(days=2))
    page = window.open()
    due = page.locator(".row .cell-due")
    expect(due).to_contain_text(re.compile(r"Due in [34] d"))
    expect(due).to_contain_text("Deadline")


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_clocks_are_accessible(
    windows: Windows, service: Service, company: Company, scheme: str, size: tuple[int, int]
) -> None:
    run = started(company, ago=timedelta(days=6))
    page = windows(service.url, scheme=scheme, size=size).enter(company).open("runs", run["id"])
    expect(meter(page)).to_be_visible()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('.clocks', {resultTypes: ['violations']})")
    assert found["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_page_of_a_template_says_its_clocks_functions_and_readers(window: Window) -> None:
    page = window.open("templates", "notice")
    listed = page.get_by_role("list", name="Clocks")
    expect(listed).to_contain_text("Within7 days")
    expect(listed).to_contain_text("Startsat the time that timestamp(inputs.received_at) gives")
    expect(listed).to_contain_text("Warns2 days before it is due")
    expect(listed).to_contain_text("it is recorded and told, and an admin may decide, too")
    expect(listed).to_contain_text("Source: 42 CFR 438.210(d)")
    functions = page.get_by_role("list", name="Functions")
    expect(functions).to_contain_text("Medical director")
    expect(functions).to_contain_text("Decides at “Review”.")
    readers = page.get_by_role("list", name="Who may read runs of this")
    expect(readers).to_contain_text("Who fills “Medical director”")
    expect(readers).to_contain_text("Never a member whose address is in inputs.applicant")


def test_a_clock_is_added_in_the_editor_and_the_path_that_is_too_long_is_drawn(
    window: Window, company: Company
) -> None:
    page = window.open("templates")
    begin(page, "Short notice")
    page.get_by_role("group", name="Clocks").get_by_role("button", name="Add a clock").click()
    clock = page.get_by_role("group", name="Clock New clock")
    clock.get_by_label("Within").fill("P2D")
    clock.get_by_label("Legal source").fill("GDPR 12(3)")
    choose(page, "Sign-off")
    page.get_by_label(re.compile(r"^Deadline optional")).fill("P3D")
    page.get_by_label("On deadline").select_option("denied")
    findings = page.get_by_role("region", name="Findings")
    expect(findings.get_by_role("button", name="Show the path").first).to_be_visible()
    expect(graph(page).locator(".node.on-path")).not_to_have_count(0)
    expect(node(page, "Sign-off")).to_have_class(re.compile("on-path"))
    saved(page)
    stored = company.send("GET", "/process-templates/short-notice/draft")
    assert stored["clocks"] == [
        {"id": "clock-1", "label": "New clock", "within": "P2D", "stops": ["signoff"], "source": "GDPR 12(3)"}
    ]


def test_a_clock_whose_times_are_deleted_in_the_editor_says_that_they_are_required(window: Window) -> None:
    page = window.open("templates")
    begin(page, "Emptied")
    page.get_by_role("group", name="Clocks").get_by_role("button", name="Add a clock").click()
    clock = page.get_by_role("group", name="Clock New clock")
    clock.get_by_label("Within").fill("")
    expect(clock.locator(".field.wrong")).to_have_count(1)
    clock.get_by_label("Within").fill("P3D")
    expect(clock.locator(".field.wrong")).to_have_count(0)
    clock.get_by_label("Starts").select_option("time")
    clock.get_by_label("Start time").fill("")
    expect(clock.get_by_label("Starts")).to_have_value("time")
    expect(clock.locator(".field.wrong")).to_have_count(1)


@pytest.mark.parametrize("begun", ["clocks:\n  -", "clocks:\n  - id: act", "functions:\n  officer:"])
def test_a_clock_or_a_function_that_is_begun_in_the_text_waits_for_its_rest(window: Window, begun: str) -> None:
    page = window.open("templates")
    begin(page, "Typed")
    page.get_by_role("button", name="YAML").click()
    text = page.get_by_label("Document (YAML)")
    before = text.input_value()
    text.fill(f"{before}{begun}")
    expect(page.get_by_text("a clock with id, label, within and stops")).to_be_visible()
    text.fill(f"{before}clocks:\n  - {{id: act, label: Act, within: P7D, stops: [signoff]}}")
    expect(page.get_by_role("group", name="Clocks")).to_contain_text("Act")


def test_the_slowest_path_of_a_clock_that_is_kept_is_drawn(window: Window) -> None:
    page = window.open("templates", "notice", "edit")
    clocks = page.get_by_role("group", name="Clocks")
    expect(clocks).to_contain_text(re.compile(r"Takes up to \d days?; the law gives 7 days\."))
    expect(graph(page).locator(".node.on-path")).to_have_count(0)
    clocks.get_by_role("button", name="Show the path").click()
    expect(node(page, "Review")).to_have_class(re.compile("on-path"))


def company_id(company: Company) -> str:
    return str(company.send("GET", "/auth/me")["company"]["id"])


def test_a_clock_that_is_tried_goes_by_the_time_of_its_run(window: Window, company: Company) -> None:
    page = window.open("templates", "notice", "edit")
    panel = trying(page)
    expect(meter(page)).to_have_attribute("aria-valuetext", re.compile("left of 7 days$|over the 7 days$"))
    expect(panel.get_by_role("region", name="Clocks")).to_contain_text("It stops when “Send the approval” or")


def test_the_dashboard_counts_clocks_that_were_kept_and_breached(window: Window, company: Company) -> None:
    company.resume(started(company, ago=timedelta(days=2)), "review", "approve")
    started(company, ago=timedelta(days=8))
    started(company, ago=timedelta(days=2), records=True)
    page = window.open("dashboard")
    table = page.get_by_role("region", name="Clocks of the law")
    row = table.get_by_role("row").filter(has_text="Decision and notice")
    expect(row).to_contain_text("Notice of a decision")
    expect(row.get_by_role("cell")).to_have_count(10)
    expect(row.get_by_role("cell").nth(3)).to_have_text("1")
    expect(row.get_by_role("cell").nth(4)).to_have_text("1")
    expect(row.get_by_role("cell").nth(9)).to_contain_text("1 d")

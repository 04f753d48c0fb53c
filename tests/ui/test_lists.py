"""The inbox, the runs and what finds them: tables, search, saved views, batches, keys, a phone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.ui.browser import Window, decide
from tests.ui.conftest import Windows
from tests.ui.people import colleague
from tests.ui.service import Company, Service

PHONE = (390, 844)
# Where the words of the navigation begin and end.
WORDS = """() => [...document.querySelectorAll('.top nav a')].map((link) => {
  const range = document.createRange();
  range.selectNodeContents(link);
  const { left, right } = range.getBoundingClientRect();
  return [left, right];
})"""
LONG_KEY = "CLAIM-2026-0000000000000000000000000000000000000-00417"


def start(company: Company, key: str, amount: float = 1840.5, vertical: str = "loan-underwriting") -> Any:
    inputs = company.send("GET", f"/process-templates/{vertical}")["inputs"]
    body = {"vertical": vertical, "inputs": {**inputs, "amount": amount}, "business_key": key}
    return company.send("POST", "/process-runs/", body)


def rows(page: Page) -> Any:
    return page.locator(".table .row")


def test_a_row_says_what_which_one_how_much_how_risky_since_when_and_for_whom(window: Window, company: Company) -> None:
    start(company, "LN-417", 204417)
    page = window.open()
    row = rows(page)
    expect(row.get_by_role("cell")).to_have_count(9)
    expect(row.locator(".cell-which")).to_have_text("LN-417")
    expect(row.locator(".cell-which .label")).to_have_css("font-weight", "700")
    expect(row.locator(".cell-amount")).to_have_text("$204,417")
    expect(row.locator(".cell-risk")).to_have_text("Critical risk")
    expect(row.locator(".cell-since")).to_have_text("< 1 min")
    expect(row.locator(".cell-whom")).to_have_text("Manager")
    box = row.bounding_box()
    assert box is not None
    assert box["height"] == 44


def test_a_question_a_deadline_and_a_claim_are_read_whole_in_a_row_of_a_small_window(
    windows: Windows, service: Service, company: Company
) -> None:
    bob = colleague(company, "Bartholomew", "manager")
    run = payout(company, "PO-1", 1234567.125)
    bob.send("POST", f"/process-runs/{run['id']}/gates/release/claim", {})
    soon = (datetime.now(UTC) + timedelta(hours=7, minutes=30)).isoformat()
    question = "Pay 250986.30 USD on the life of Grace Hopper to the estate in Zurich, at once?"
    window = windows(service.url, size=(1280, 800)).enter(company)

    def asked(route: Route) -> None:
        found = route.fetch().json()
        found[0]["gate"] |= {"question": question, "due_at": soon, "proposals": 2}
        route.fulfill(json=found)

    page = window.page
    page.route(re.compile(r"/gates/\?view=row"), asked)
    page.reload()
    row = rows(page)
    expect(row.locator(".row-main")).to_have_text(question)
    expect(row.locator(".cell-amount")).to_have_text("€1,234,567.125")
    expect(row.locator(".cell-whom")).to_contain_text("claimed by Bartholomew")
    whole = "one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight + 1"
    for cell in ("what", "which", "amount", "marks", "due", "whom"):
        assert row.locator(f".cell-{cell}").evaluate(whole), cell


def test_a_run_in_the_list_says_whether_it_was_a_dry_run(window: Window, company: Company) -> None:
    run = payout(company, "PO-1")
    company.resume(run, "release")
    page = window.open("runs")
    expect(rows(page).locator(".cell-where")).to_have_text("Dry run Paid")
    start(company, "LN-1")  # it waits, and what its calls will be is in the inbox
    expect(rows(page).first.locator(".cell-where")).to_have_text("Fund the loan")


def test_a_click_anywhere_on_a_row_opens_its_gate_here_or_in_a_tab_of_its_own(window: Window, company: Company) -> None:
    company.start("loan-underwriting")
    page = window.open()
    amount = page.locator(".row .cell-amount")
    for click in ({"modifiers": ["ControlOrMeta"]}, {"button": "middle"}):
        with page.context.expect_page() as opened:
            amount.click(**click)
        expect(opened.value.get_by_role("heading", name="Pay out", level=1)).to_be_visible()
        opened.value.close()
    expect(amount).to_be_visible()
    amount.click()
    expect(page.get_by_role("heading", name="Pay out", level=1)).to_be_visible()


def test_the_key_of_a_row_is_selected_without_leaving_the_inbox(window: Window, company: Company) -> None:
    company.start("loan-underwriting")
    page = window.open()
    box = page.locator(".row .cell-which .label").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 1, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    assert page.evaluate("getSelection().toString()") != ""
    expect(page.locator(".row")).to_be_visible()


def test_the_service_searches_filters_and_orders_the_inbox_and_the_address_says_how(
    window: Window, company: Company
) -> None:
    for number in range(3):
        start(company, f"LN-{number}")
    company.start("prior-auth")
    page = window.open()
    expect(rows(page)).to_have_count(4)
    expect(page).to_have_title("(4) Inbox · Penstock")
    with page.expect_request(re.compile("/gates/.*q=ln-2")):
        page.get_by_label("Search").fill("ln-2")
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_text("1 gate found")).to_be_visible()
    assert page.url.endswith("#/?q=ln-2")
    page.goto(f"{window.url}/#/?template=prior-auth&risk=high")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Order").select_option("newest")
    page.get_by_label("Waiting", exact=True).select_option("day")
    expect(page.get_by_role("heading", name="No gate matches these filters")).to_be_visible()
    page.get_by_role("button", name="Show everything").click()
    expect(rows(page)).to_have_count(4)


def test_a_view_is_kept_by_the_service_and_forgotten(
    windows: Windows, service: Service, window: Window, company: Company
) -> None:
    start(company, "LN-1")
    page = window.open("?risk=critical")
    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("Name").fill("Critical ones")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="Critical ones")).to_have_attribute("aria-current", "true")
    other = windows(service.url).enter(company).page
    other.get_by_role("link", name="Critical ones").click()
    expect(other.get_by_label("Risk")).to_have_value("critical")
    other.get_by_role("button", name="Forget the view Critical ones").click()
    expect(other.get_by_role("link", name="Critical ones")).to_have_count(0)


@pytest.mark.parametrize("locale", ["en-US", "de-DE", "es-ES"])
def test_the_words_of_the_navigation_do_not_touch_on_a_phone(
    windows: Windows, service: Service, company: Company, locale: str
) -> None:
    window = windows(service.url, size=PHONE, locale=locale)
    window.sign_in_by_cookie(company)
    page = window.open()
    links = page.locator(".top nav a")
    expect(links).to_have_count(8)
    words = [tuple(one) for one in page.evaluate(WORDS)]
    assert all(right + 4 <= left for (_, right), (left, _) in pairwise(words)), words
    assert words[-1][1] <= PHONE[0]


def payout(company: Company, key: str, amount: float = 12.5, currency: str = "EUR") -> Any:
    inputs = {"order": key, "amount": amount, "currency": currency}
    return company.send("POST", "/process-runs/", {"vertical": "payout", "inputs": inputs, "business_key": key})


def scroll_to_end(dialog: Locator) -> None:
    """Scroll through the rows of a batch as a person does, page by page."""
    box = dialog.get_by_role("group", name="Selected gates")
    while box.evaluate("one => one.scrollTop + one.clientHeight < one.scrollHeight - 1"):
        seen = dialog.locator(".batch-seen").inner_text()
        box.evaluate("one => one.scrollBy(0, one.clientHeight / 2)")
        expect(dialog.locator(".batch-seen")).not_to_have_text(seen)


def test_several_gates_are_decided_at_once_each_for_what_was_seen(window: Window, company: Company) -> None:
    runs = [payout(company, f"LN-{number}") for number in range(3)]
    page = window.page
    page.route("**/events", lambda route: route.abort())
    page.reload()
    expect(rows(page)).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="Approve 2 gates?")
    expect(dialog).to_contain_text("LN-0")
    company.resume(runs[1], runs[1]["parked_at"], "denied")
    dialog.get_by_role("button", name="Approve 2").click()
    expect(page.get_by_text("1 gate approved, 1 refused")).to_be_visible()
    expect(rows(page)).to_have_count(1)
    assert company.run(runs[0])["status"] != "parked"
    assert company.run(runs[2])["status"] == "parked"


def test_all_that_is_loaded_is_selected_by_one_box(window: Window, company: Company) -> None:
    for number in range(3):
        payout(company, f"LN-{number}")
    page = window.open()
    page.get_by_label("Select the 3 that are loaded").check()
    page.get_by_role("button", name="Deny…").click()
    page.get_by_role("dialog").get_by_role("button", name="Deny 3").click()
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()


def test_a_batch_counts_once_each_of_its_gates_was_in_sight(window: Window, company: Company) -> None:
    for number in range(24):
        payout(company, f"PO-{number:02}", 0.1)
    page = window.open()
    page.get_by_label("Select the 24 that are loaded").check()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="Approve 24 gates?")
    yes = dialog.get_by_role("button", name="Approve 24")
    for number in range(24):
        expect(dialog).to_contain_text(f"PO-{number:02}")
    expect(dialog).to_contain_text("24 gates · in all €2.40 · 24 dry-run calls")
    expect(dialog.locator(".batch-seen")).to_contain_text("of 24 seen")
    expect(yes).to_be_disabled()
    scroll_to_end(dialog)
    expect(dialog.locator(".batch-seen")).to_have_text("All 24 gates seen")
    yes.click()
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()


def test_a_batch_names_its_calls_its_sums_and_the_claims_of_others(
    windows: Windows, service: Service, window: Window, company: Company
) -> None:
    bob = colleague(company, "Bob", "manager")
    payout(company, "PO-1", 2.675)
    other = payout(company, "PO-2", 10, "USD")
    target = {"base_url": "https://bank.example.com", "path": "/pay", "method": "POST"}
    company.send("PUT", "/connectors/payout-send", target)
    bob.send("POST", f"/process-runs/{other['id']}/gates/release/claim", {})
    page = window.open()
    page.get_by_label("Select the 2 that are loaded").check()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="Approve 2 gates?")
    expect(dialog.get_by_role("heading", name="Payout", exact=True)).to_be_visible()
    for text in ("€2.675", "$10", "Dry run", "POST https://bank.example.com/pay"):
        expect(dialog).to_contain_text(text)
    expect(dialog).to_contain_text("1 of these gates is claimed by somebody else: Bob")


def test_a_claim_that_comes_while_a_batch_is_looked_at_is_named(
    windows: Windows, service: Service, window: Window, company: Company
) -> None:
    bob = colleague(company, "Bob", "manager")
    run = payout(company, "PO-1")
    page = window.open()
    page.get_by_label("Select the one that is loaded").check()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="Approve 1 gate?")
    expect(dialog).to_contain_text("PO-1")
    bob.send("POST", f"/process-runs/{run['id']}/gates/release/claim", {})
    expect(dialog).to_contain_text("1 of these gates is claimed by somebody else: Bob")
    expect(dialog).to_contain_text("claimed by Bob")


def test_a_gate_at_which_one_decides_for_another_alone_is_left_out_of_a_batch(window: Window, company: Company) -> None:
    payout(company, "PO-1")

    def for_another(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "for_another": True})

    page = window.page
    page.route("**/gates/release", for_another)
    window.open()
    page.get_by_label("Select the one that is loaded").check()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="These gates are decided one by one")
    expect(dialog).to_contain_text("It asks for more than this")


def test_a_batch_that_failed_is_sent_again_under_its_key_unless_it_says_something_else(
    window: Window, company: Company
) -> None:
    payout(company, "PO-1")
    page = window.open()
    page.get_by_label("Select the one that is loaded").check()
    page.get_by_role("button", name="Approve…").click()
    dialog, keys = page.get_by_role("dialog"), list[str]()

    def refuse(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        route.fulfill(status=500, json={"detail": f"Refused {len(keys)}.", "code": "internal_error"})

    page.route("**/gates/verdicts", refuse)
    for number, comment in enumerate(("as ordered", "as ordered", "as agreed"), 1):
        dialog.get_by_label("Comment").fill(comment)
        dialog.get_by_role("button", name="Approve 1").click()
        expect(dialog).to_contain_text(f"Refused {number}.")
    assert keys[0] == keys[1] != keys[2]


def test_a_gate_that_refuses_batches_is_left_out_with_the_reason_and_cancel_leaves(
    window: Window, company: Company
) -> None:
    payout(company, "PO-1")

    def never(route: Route) -> None:
        found = route.fetch().json()
        found["gate"]["policy"]["batch"] = "never"
        route.fulfill(json=found)

    page = window.page
    page.route("**/gates/release", never)
    window.open()
    page.get_by_label("Select the one that is loaded").check()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="These gates are decided one by one")
    expect(dialog).to_contain_text("1 gate is left out")
    expect(dialog).to_contain_text("PO-1 Release the payout")
    expect(dialog).to_contain_text("It is decided on its own page alone")
    expect(dialog.get_by_label("Comment")).to_have_count(0)
    expect(dialog.get_by_role("button", name="Approve 0")).to_be_disabled()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)


def test_a_gate_that_could_not_be_loaded_is_not_said_to_have_changed(window: Window, company: Company) -> None:
    payout(company, "PO-1")
    page = window.page
    page.route("**/gates/release", lambda route: route.abort())
    window.open()
    page.get_by_label("Select the one that is loaded").check()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="These gates are decided one by one")
    expect(dialog).to_contain_text("It could not be loaded: close this and try again.")


def test_a_batch_tells_how_many_are_recorded_while_it_runs(window: Window, company: Company) -> None:
    for number in range(2):
        payout(company, f"PO-{number}")
    page = window.open()
    page.get_by_label("Select the 2 that are loaded").check()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog")
    yes = dialog.get_by_role("button", name="Approve 2")
    expect(yes).to_be_enabled()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/gates/verdicts", hold)
    yes.click()
    expect(dialog).to_contain_text("0 of 2 decisions recorded")
    one = company.send("GET", "/gates/")[0]
    company.resume({"id": one["run_id"]}, "release")
    expect(dialog).to_contain_text("1 of 2 decisions recorded")
    expect(page.get_by_role("dialog", name="Approve 2 gates?")).to_be_visible()
    held[0].continue_()
    expect(dialog).to_have_count(0)


def test_after_a_decision_the_next_of_the_same_list_has_the_focus_and_the_inbox_keeps_its_filter(
    window: Window, company: Company
) -> None:
    for number in range(3):
        payout(company, f"PO-{number}")
    start(company, "LN-9")
    page = window.open("?q=po-&order=oldest")
    expect(rows(page)).to_have_count(3)
    rows(page).nth(1).locator(".row-main").click()
    decide(page, "Deny")
    following = page.get_by_role("link", name="Next in the inbox: PO-2: Release the payout")
    expect(following).to_be_focused()
    inbox = page.get_by_role("main").get_by_role("link", name="Inbox", exact=True)
    expect(inbox).to_have_attribute("href", "#/?q=po-&order=oldest")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("PO-2")
    decide(page, "Deny")
    expect(page.get_by_role("link", name="Next in the inbox: PO-0: Release the payout")).to_be_focused()
    page.get_by_role("main").get_by_role("link", name="Inbox", exact=True).click()
    expect(rows(page)).to_have_count(1)
    assert page.url.endswith("#/?q=po-&order=oldest")


def test_control_k_finds_gates_runs_templates_people_and_pages(window: Window, company: Company) -> None:
    start(company, "LN-417")
    page = window.open("templates")
    for text, wanted in (("audi", "Audit"), ("prior auth", "Prior authorization"), ("ada", "Ada Marsh")):
        page.keyboard.press("Control+k")
        page.keyboard.type(text)
        expect(page.get_by_role("option", name=wanted).first).to_be_visible()
        page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("ln-417")
    expect(page.get_by_role("dialog").get_by_role("option")).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert "#/runs/" in page.url


def test_runs_are_found_by_key_status_person_day_and_gate(window: Window, company: Company) -> None:
    one, other = start(company, "LN-1"), start(company, "LN-2")
    company.send("POST", f"/process-runs/{other['id']}/cancel", {})
    page = window.open("runs")
    expect(rows(page)).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("ln-1")
    expect(rows(page)).to_have_count(1)
    for query, found in (
        ("status=cancelled", 1),
        (f"q={one['id'][:24]}", 1),
        (f"by={company.email}", 2),
        ("since=2020-01-01&until=2020-01-02", 0),
        (f"at={one['parked_at']}", 1),
    ):
        page.goto(f"{window.url}/#/runs?{query}")
        expect(rows(page)).to_have_count(found)


def test_the_keys_are_told(window: Window, company: Company) -> None:
    start(company, "LN-1")
    page = window.open()
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_contain_text("Next row")


def test_on_a_phone_the_identifying_value_is_never_cut(windows: Windows, service: Service, company: Company) -> None:
    start(company, LONG_KEY)
    page = windows(service.url, size=PHONE).enter(company).page
    for place in ("", "runs"):
        page.goto(f"{service.url}/#/{place}")
        which = rows(page).locator(".cell-which")
        expect(which).to_have_text(LONG_KEY)
        fits = "one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight + 1"
        assert which.evaluate(fits), place
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), place


def test_the_browser_is_asked_for_notifications_by_a_click_alone(window: Window, company: Company) -> None:
    page = window.page
    page.add_init_script(
        """window.asked = 0; window.told = [];
           window.Notification = class { static permission = 'default';
             static async requestPermission() { window.asked++; this.permission = 'granted'; return 'granted'; }
             constructor(title) { window.told.push(title); } close() {} };"""
    )
    page.reload()
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    assert page.evaluate("window.asked") == 0
    page.locator("summary").click()
    page.get_by_label("Notify me of new gates").check()
    assert page.evaluate("window.asked") == 1
    page.evaluate(
        """() => { Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true});
                   document.dispatchEvent(new Event('visibilitychange')); }"""
    )
    start(company, "LN-1")
    expect(page).to_have_title("(1) Inbox · Penstock")
    assert page.evaluate("window.told") == ["A gate waits for you"]


def test_the_key_of_the_case_stands_beside_its_decision(window: Window, company: Company) -> None:
    run = payout(company, "PO-77")
    page = window.gate(run)
    decide(page, "Approve")
    expect(page.get_by_role("status").filter(has_text="Your decision is recorded")).to_contain_text("PO-77")
    page.reload()
    expect(page.get_by_role("status").filter(has_text="You decided this")).to_contain_text("PO-77")


def test_the_graph_of_a_process_stands_before_its_sources(window: Window) -> None:
    page = window.open("templates", "prior-auth")
    expect(page.locator(".template-graph .node").first).to_be_visible()
    graph, sources = page.locator(".template-graph").bounding_box(), page.get_by_text("Sources").bounding_box()
    assert graph is not None
    assert sources is not None
    assert graph["y"] < sources["y"]


def test_a_sum_of_many_digits_stands_in_its_row_and_counts_in_a_batch(window: Window, company: Company) -> None:
    payout(company, "PO-1", 9_007_199_254_740_993)
    payout(company, "PO-2", 1e21)
    payout(company, "PO-3", 0.0000001)
    page = window.open()
    row = page.get_by_role("row").filter(has_text="PO-1")
    expect(row).to_contain_text("€9,007,199,254,740,993")
    page.get_by_label("Select the 3 that are loaded").check()
    page.get_by_role("button", name="Approve…").click()
    expect(page.get_by_role("dialog")).to_contain_text("in all €1,000,009,007,199,254,740,993.0000001")

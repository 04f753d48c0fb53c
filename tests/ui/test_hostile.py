"""Untrusted content is inert: markup, invisible characters and long values."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.ui.browser import NARROW, Window
from tests.ui.conftest import Windows
from tests.ui.service import Company, Service

TAKEN = "document.title === 'taken' || document.querySelector('main img, main script, main iframe, main b') !== null"
BURST = "document.documentElement.scrollWidth > window.innerWidth"
SCRIPT = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
TURNED = "100\u202e001 ruE\u202c\u200b\u2066"
INPUTS = {
    "markup": SCRIPT,
    "turned": TURNED,
    "long": "x" * 10_240,
    "<b>key</b>\u202e": {"__proto__": "kept", "constructor": [SCRIPT, {"deep": [[[[[TURNED]]]]]}]},
    "emoji": "👩‍👩‍👧 é क्ष 日本",
}


def assert_inert(page: Page) -> None:
    assert page.evaluate(TAKEN) is False
    assert page.evaluate(BURST) is False


@pytest.fixture
def narrow(windows: Windows, service: Service, company: Company) -> Window:
    return windows(service.url, size=NARROW).enter(company)


def test_hostile_labels_and_facts_are_inert_on_every_page(narrow: Window, company: Company) -> None:
    run = company.start("hostile", INPUTS)
    page = narrow.gate(run)
    expect(page.get_by_role("radio", name="Approve")).to_be_visible()
    expect(page.locator("h1")).to_contain_text("<script>document.title='taken'</script>")
    expect(page.locator("h1")).to_contain_text("U+202E")
    assert_inert(page)
    for place in ((), ("runs",), ("runs", run["id"]), ("templates",), ("templates", "hostile"), ("audit",)):
        narrow.open(*place)
        expect(page.locator("h1")).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        assert_inert(page)
    assert "\u202e" not in page.title()


def test_hostile_titles_are_inert_in_dialogs_and_lists_of_choices(narrow: Window) -> None:
    page = narrow.open("templates", "hostile")
    page.get_by_role("button", name="Use this").click()
    expect(page.get_by_role("dialog").get_by_role("heading")).to_contain_text("<b>Hostile</b> U+202Egnp.exe")
    assert_inert(page)
    page = narrow.open("people", "readers", "hostile")
    expect(page.get_by_label("Process").locator("option:checked")).to_have_text("<b>Hostile</b> [U+202E]gnp.exe")


def test_a_value_of_ten_kilobytes_is_cut_and_shown_on_demand(narrow: Window, company: Company) -> None:
    page = narrow.gate(company.start("hostile", INPUTS))
    more = page.get_by_role("button", name="Show all 10,240 characters")
    more.click()
    expect(page.get_by_text("x" * 10_240)).to_be_visible()
    assert_inert(page)


def test_characters_that_are_not_seen_are_named(narrow: Window, company: Company) -> None:
    page = narrow.gate(company.start("hostile", INPUTS))
    marks = page.locator(".facts .hidden-character")
    expect(marks.first).to_be_visible()
    texts = marks.all_inner_texts()
    assert {"U+202E", "U+200B", "U+2066"} <= set(texts)
    expect(page.get_by_text("👩‍👩‍👧 é क्ष 日本")).to_be_visible()


def test_a_comment_of_somebody_else_is_inert(window: Window, company: Company) -> None:
    run = company.start("hostile", {})
    company.resume(run, "signoff", "approved", comment=f"{SCRIPT}{TURNED}{'y' * 3_000}")
    page = window.open("runs", run["id"])
    expect(page.locator(".history")).to_contain_text("<img src=x")
    assert_inert(page)


@pytest.mark.parametrize(
    "place", ["runs/%2e%2e/x", "templates/<script>", "connectors/%00", "nowhere", "runs/1/gates/2"]
)
def test_an_address_that_leads_nowhere_says_so(window: Window, place: str) -> None:
    page = window.page
    page.goto(f"{window.url}/#/{place}")
    expect(page.locator("h1, h2").first).to_be_visible()
    assert_inert(page)

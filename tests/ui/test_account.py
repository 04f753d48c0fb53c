"""The account: the page's session goes on by itself; sessions and password are one's own."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, Route, expect

from daemon.web.cookies import REFRESH_COOKIE, cookie_at
from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.people import colleague
from tests.ui.service import PASSWORD, Company, Service

NEW = "another horse battery"


def cookie_of(window: Window, name: str = "penstock_session") -> str | None:
    """The value of a cookie of the page, as the browser would send it to whom it belongs."""
    url = f"{window.url}/auth/refresh"
    found = {one["name"]: one["value"] for one in window.context.cookies(url)}
    return found.get(cookie_at(urlsplit(window.url).netloc, name))


def forget_token(window: Window) -> None:
    """What happens to the token after a quarter of an hour.

    A page that asks for something just then may have a new one at once, so the old one is what
    has to be gone.
    """
    before = cookie_of(window)
    window.context.clear_cookies(name=cookie_at(urlsplit(window.url).netloc))
    assert cookie_of(window) != before


@pytest.fixture
def entered(windows: Windows, service: Service, company: Company) -> Window:
    """A window whose user has signed in as people do."""
    return windows(service.url).sign_in(company)


def item(page: Page, text: str) -> Any:
    return page.get_by_role("list", name="Sessions").get_by_role("listitem").filter(has_text=text)


def test_a_token_that_expires_is_replaced_and_nobody_notices(entered: Window, company: Company) -> None:
    company.start("prior-auth")
    before = cookie_of(entered, REFRESH_COOKIE)
    page = entered.open("runs")
    expect(page.locator(".row")).to_have_count(1)
    forget_token(entered)
    entered.open("templates")
    expect(page.get_by_role("heading", name="Templates")).to_be_visible()
    page.reload()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    assert cookie_of(entered) is not None
    assert cookie_of(entered, REFRESH_COOKIE) not in {before, None}


def test_two_tabs_renew_the_session_at_once(entered: Window) -> None:
    pages = [entered.page, entered.tab()]
    for page in pages:
        page.goto(f"{entered.url}/#/audit")
        expect(page.get_by_role("heading", name="Audit")).to_be_visible()
    forget_token(entered)
    for page in pages:
        page.evaluate("() => { location.hash = '#/connectors' }")
    for page in pages:
        expect(page.locator(".row").first).to_be_visible()


def test_a_decision_is_made_though_the_token_has_expired(entered: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = entered.gate(run)
    page.get_by_role("radio", name="Approve").check()
    forget_token(entered)
    page.get_by_role("button", name="Confirm: Approve").click()
    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert company.run(run)["trace"][-1]["status"] == "done"


def test_live_updates_go_on_past_the_life_of_a_token(
    windows: Windows, own: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.stop()
    monkeypatch.setenv("PENSTOCK_PAGE_TOKEN_TTL_S", "5")
    own.start()
    company = own.company()
    window = windows(own.url).sign_in(company)
    page = window.page
    page.evaluate(
        """() => { window.broken = 0; new MutationObserver(() => {
                   window.broken += document.querySelector('.offline') === null ? 0 : 1; })
                   .observe(document.body, {childList: true, subtree: true}); }"""
    )
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    while cookie_of(window) is not None:  # the browser drops it when it expires
        page.wait_for_function("() => true")
    with page.expect_response(lambda one: one.url.endswith("/auth/refresh")) as renewed:
        company.start("prior-auth")
    assert renewed.value.status == 200
    expect(page.locator(".row")).to_have_count(1)
    assert page.evaluate("window.broken") == 0


def test_who_is_signed_out_elsewhere_has_to_sign_in_again(entered: Window, company: Company) -> None:
    page = entered.page
    company.send("DELETE", "/auth/sessions")
    page.goto(f"{entered.url}/#/runs")
    expect(page.get_by_text("Your session has ended")).to_be_visible()


def test_the_sessions_are_shown_and_another_one_is_ended(entered: Window, company: Company) -> None:
    page = entered.open("account")
    expect(page.get_by_role("heading", name="Account")).to_be_visible()
    expect(item(page, "This session")).to_have_count(1)
    expect(item(page, "This session").get_by_role("button")).to_have_count(0)
    item(page, "API client").get_by_role("button", name="End").click()
    expect(item(page, "API client")).to_have_count(0)
    with pytest.raises(AssertionError, match="401"):
        company.send("GET", "/auth/me")


def test_all_other_sessions_are_ended_after_a_question(entered: Window, company: Company) -> None:
    page = entered.open("account")
    page.get_by_role("button", name="End all others").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This page stays signed in")
    dialog.get_by_role("button", name="End all others").click()
    expect(page.get_by_role("list", name="Sessions").get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("button", name="End all others")).to_have_count(0)
    with pytest.raises(AssertionError, match="401"):
        company.send("GET", "/auth/me")


def test_the_password_is_changed(entered: Window, company: Company) -> None:
    page = entered.open("account")
    for current, new, said in (
        ("wrong horse", NEW, "The current password is wrong."),
        (PASSWORD, "12345678", "Is a sequence of neighbouring characters"),
        (PASSWORD, NEW, "The password is changed"),
    ):
        page.get_by_label("Current password").fill(current)
        page.get_by_label("New password").fill(new)
        page.get_by_role("button", name="Change the password").click()
        expect(page.get_by_text(said).first).to_be_visible()
    expect(page.get_by_label("New password")).to_have_value("")
    with pytest.raises(AssertionError, match="401"):
        company.send("GET", "/auth/me")
    page.reload()
    expect(page.get_by_role("heading", name="Account")).to_be_visible()
    session = company.service.send("POST", "/auth/login", {"email": company.email, "password": NEW})
    assert session["user"]["email"] == company.email


def test_the_menu_leads_to_the_account(window: Window) -> None:
    window.page.locator("summary", has_text="Example Health").click()
    window.page.get_by_role("link", name="Password and sessions").click()
    expect(window.page.get_by_role("heading", name="Account")).to_be_visible()


def test_a_second_factor_is_set_up_by_a_code_that_is_drawn_on_the_page(entered: Window) -> None:
    page = entered.open("account")
    card = page.locator("section.card", has=page.get_by_role("heading", name="Second factor"))
    card.get_by_label("Password").fill(PASSWORD)
    card.get_by_role("button", name="Set up a second factor").click()
    code = page.get_by_role("img", name="What your app scans")
    expect(code).to_be_visible()
    uri = page.get_by_role("link", name="open the app").get_attribute("href") or ""
    secret = card.locator("code").inner_text()
    assert secret in uri
    # What a camera sees: 4 modules of quiet around a square with the three finders.
    dark = code.locator("path").get_attribute("d") or ""
    size = int((code.get_attribute("viewBox") or "").split()[-1]) - 8
    assert size >= 21
    for row, column in ((0, 0), (0, size - 7), (size - 7, 0)):
        assert all(f"M{column + 4 + step},{row + 4}h1" in dark for step in range(7))
        assert f"M{column + 5},{row + 5}h1" not in dark


def test_an_account_without_a_password_is_not_offered_to_change_one(entered: Window) -> None:
    def answer(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "has_password": False})

    page = entered.page
    page.route("**/auth/me", answer)
    page.goto(f"{entered.url}/#/account")
    page.reload()
    expect(page.get_by_role("button", name="Change the name")).to_be_visible()
    expect(page.get_by_role("heading", name="Change the password")).to_have_count(0)


def test_a_session_is_named_by_its_browser_and_a_delegation_by_its_last_day(entered: Window, company: Company) -> None:
    colleague(company, "Bob", "manager")
    page = entered.open("account")
    expect(item(page, "This session")).to_contain_text("Chrome on Linux")
    page.get_by_label("Who decides for you").select_option("Bob")
    last = datetime.now().astimezone() + timedelta(days=3)
    page.get_by_label("To the end of").fill(f"{last:%Y-%m-%d}")
    page.get_by_role("button", name="Delegate").click()
    expect(page.get_by_role("list", name="Delegations")).to_contain_text(
        f"the end of {last:%b} {last.day}, {last.year}"
    )


@pytest.mark.parametrize("last", ["2027-03-28", "2027-10-31"])
def test_a_delegation_ends_with_its_day_though_the_clocks_change_on_it(
    windows: Windows, service: Service, company: Company, last: str
) -> None:
    colleague(company, "Bob", "manager")
    page = windows(service.url, timezone="Europe/Berlin").enter(company).open("account")
    page.get_by_label("Who decides for you").select_option("Bob")
    page.get_by_label("To the end of").fill(last)
    page.get_by_role("button", name="Delegate").click()
    expect(page.get_by_role("list", name="Delegations")).to_contain_text("the end of")
    (made,) = company.send("GET", "/delegations")
    ends = datetime.fromisoformat(made["until"]).astimezone(ZoneInfo("Europe/Berlin"))
    assert ends.isoformat()[:16] == f"{date.fromisoformat(last) + timedelta(days=1)}T00:00"

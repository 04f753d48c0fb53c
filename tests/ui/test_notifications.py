"""Notifications on the page: added, tested, read, changed, sent again and deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.browser import TIMEOUT_MS, Window
from tests.ui.conftest import TEMPLATES, Windows
from tests.ui.endpoint import Endpoint
from tests.ui.people import colleague, member_of
from tests.ui.service import Company, Service
from tests.ui.test_access import assert_accessible, needs_axe


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that knows the address of its page, which links need."""
    one = Service(tmp_path_factory.mktemp("linked"), TEMPLATES)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PENSTOCK_PUBLIC_URL", "https://penstock.test")
        one.start()
    yield one
    one.stop()


@pytest.fixture
def company(linked: Service) -> Company:
    return linked.company()


@pytest.fixture
def window(windows: Windows, linked: Service, company: Company) -> Window:
    return windows(linked.url).enter(company)


def add(page: Page, url: str, description: str = "") -> None:
    page.get_by_role("button", name="Add a notification").click()
    page.get_by_label("URL").fill(url)
    page.get_by_label("Description").fill(description)
    page.get_by_role("button", name="Add", exact=True).click()


def delivered(company: Company, attempts: int) -> None:
    """Wait until the delivery of the one notification was sent so often."""
    (one,) = company.send("GET", "/notifications/")
    found: list[Any] = []
    until = time.monotonic() + TIMEOUT_MS / 1_000
    while time.monotonic() < until:
        found = company.send("GET", f"/notifications/{one['id']}/deliveries")
        if [each["attempts"] for each in found] == [attempts]:
            return
    pytest.fail(f"after {TIMEOUT_MS} ms: {found}")


def test_it_is_reached_from_the_account_and_added_with_a_form(
    window: Window, company: Company, endpoint: Endpoint
) -> None:
    page = window.open("account")
    page.get_by_role("link", name="What you are told of").click()
    expect(page.get_by_role("heading", name="No notifications yet")).to_be_visible()
    page.get_by_role("button", name="Add a notification").click()
    page.get_by_label("Channel").select_option("teams")
    page.get_by_label("URL").fill(f"{endpoint.url}/hook")
    page.get_by_label("Description").fill("#approvals")
    page.get_by_label("Failed", exact=True).check()
    page.get_by_text("Processes: all").click()
    page.get_by_label("Prior authorization", exact=True).check()
    page.get_by_label("Digest").select_option("Hourly digest")
    page.get_by_label("Quiet hours").check()
    page.get_by_label("From").fill("22:00")
    page.get_by_label("To", exact=True).fill("06:30")
    page.get_by_label("Time zone").select_option("Europe/Vienna")
    page.get_by_role("button", name="Add", exact=True).click()
    card = page.get_by_role("region", name="Microsoft Teams for me")
    expect(card).to_contain_text("Decision needed, Reminder, Escalated, Failed")
    expect(card).to_contain_text("#approvals · http://127.0.0.1")
    expect(card).to_contain_text("prior-auth · Quiet 22:00 to 06:30 (Europe/Vienna) · Hourly digest")
    expect(card).not_to_contain_text("/hook")
    (one,) = company.send("GET", "/notifications/")
    assert (one["kind"], one["digest"], one["verticals"]) == ("teams", "PT1H", ["prior-auth"])
    assert window.errors == []


def test_all_findings_stand_at_their_fields_at_once(window: Window) -> None:
    page = window.open("notifications")
    page.get_by_role("button", name="Add a notification").click()
    for name in ("Decision needed", "Reminder", "Escalated"):
        page.get_by_label(name, exact=True).uncheck()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("Choose at least one event")).to_be_visible()
    page.get_by_label("Decided", exact=True).check()
    page.get_by_label("Quiet hours").check()
    page.get_by_label("From").fill("08:00")
    page.get_by_label("To", exact=True).fill("08:00")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".field.wrong")).to_have_count(2)
    expect(page.locator(".error").first).to_have_text("Required")


def test_a_test_and_the_delivery_log_with_another_delivery(
    window: Window, company: Company, endpoint: Endpoint
) -> None:
    page = window.open("notifications")
    add(page, f"{endpoint.url}/hook")
    card = page.get_by_role("region", name="Slack for me")
    card.get_by_role("button", name="Send a test").click()
    expect(card.get_by_text("The test was sent.")).to_be_visible()
    company.start("prior-auth")
    delivered(company, 1)
    card.get_by_role("button", name="Delivery log").click()
    entry = card.get_by_role("list", name="Deliveries").get_by_role("listitem")
    expect(entry).to_contain_text("Decision needed · Delivered")
    entry.get_by_role("button", name="Send again").click()
    delivered(company, 2)
    card.get_by_role("button", name="Refresh").click()
    expect(entry).to_contain_text("2 attempts")
    assert [path for _, path, _ in endpoint.calls] == ["/hook"] * 3


def test_it_is_paused_by_a_change_and_deleted_after_a_question(
    window: Window, company: Company, endpoint: Endpoint
) -> None:
    page = window.open("notifications")
    add(page, endpoint.url)
    card = page.get_by_role("region", name="Slack for me")
    card.get_by_role("button", name="Change").click()
    expect(page.get_by_label("Channel")).to_be_disabled()
    page.get_by_label("Enabled").uncheck()
    page.get_by_label("Description").fill("later")
    page.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("Paused")
    (one,) = company.send("GET", "/notifications/")
    assert (one["enabled"], one["description"]) == (False, "later")
    card.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No notifications yet")).to_be_visible()
    assert company.send("GET", "/notifications/") == []


def test_admins_add_those_of_groups_and_the_secret_of_a_webhook_is_shown_once(
    window: Window, windows: Windows, company: Company, endpoint: Endpoint
) -> None:
    bob = colleague(company, "Bob", "manager")
    path = f"/companies/{company.send('GET', '/auth/me')['company']['id']}/groups/physicians"
    company.send("PUT", path, {"members": [member_of(company, bob.email)]})
    page = window.open("notifications")
    page.get_by_role("button", name="Add a notification").click()
    page.get_by_label("Channel").select_option("webhook")
    page.get_by_label("For", exact=True).select_option("Group physicians")
    page.get_by_label("URL").fill(endpoint.url)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".note-good code")).to_contain_text("whsec_")
    expect(page.get_by_role("region", name="Webhook for group physicians")).to_be_visible()
    page.reload()
    expect(page.get_by_role("region", name="Webhook for group physicians")).to_be_visible()
    expect(page.locator(".note-good")).to_have_count(0)
    his = windows(company.service.url).enter(bob).open("notifications")
    expect(his.get_by_role("heading", name="No notifications yet")).to_be_visible()
    his.get_by_role("button", name="Add a notification").click()
    expect(his.get_by_label("Channel")).to_be_visible()
    expect(his.get_by_label("For", exact=True)).to_have_count(0)


@needs_axe
def test_notifications_are_accessible(window: Window, company: Company, endpoint: Endpoint) -> None:
    page = window.open("notifications")
    expect(page.get_by_role("heading", name="No notifications yet")).to_be_visible()
    assert_accessible(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    add(page, endpoint.url, "#approvals")
    card = page.get_by_role("region", name="Slack for me")
    card.get_by_role("button", name="Send a test").click()
    expect(card.get_by_text("The test was sent.")).to_be_visible()
    card.get_by_role("button", name="Delivery log").click()
    expect(card.get_by_text("Nothing was sent yet.")).to_be_visible()
    page.get_by_role("button", name="Add a notification").click()
    page.get_by_label("Quiet hours").check()
    page.get_by_text("Processes: all").click()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".field.wrong")).to_have_count(1)
    assert_accessible(page)


def test_clocks_and_broken_glass_can_be_told_of(window: Window, company: Company, endpoint: Endpoint) -> None:
    page = window.open("notifications")
    page.get_by_role("button", name="Add a notification").click()
    page.get_by_label("URL").fill(endpoint.url)
    for name in ("Clock warns", "Clock breached", "Glass broken"):
        page.get_by_label(name, exact=True).check()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("region", name="Slack for me")).to_contain_text("Glass broken")
    (stored,) = company.send("GET", "/notifications/")
    assert {"clock_warned", "clock_breached", "glass_broken"} <= set(stored["events"])

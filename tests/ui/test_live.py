"""Live updates, also after a lost connection."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import expect

from daemon.model.audit_events import HistoryRewound, Logged
from daemon.stores.sqlite.connection import DATABASE
from daemon.stores.sqlite.store import SqliteStore
from tests.ui.browser import Window, decide
from tests.ui.conftest import TEMPLATES, Windows
from tests.ui.service import Company, Service


def test_what_waits_appears_in_the_inbox_by_itself_and_leaves_it(window: Window, company: Company) -> None:
    page = window.open()
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    run = company.start("prior-auth")
    row = page.get_by_role("link", name="Authorize 72148 for member M-204417?")
    expect(row).to_be_visible()
    expect(page.locator("nav .count")).to_contain_text("1")
    company.resume(run, "signoff")
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()


def test_a_service_that_comes_back_is_followed_on_without_a_gap(windows: Windows, own: Service) -> None:
    company = own.company()
    page = windows(own.url).enter(company).page
    company.start("prior-auth")
    expect(page.locator(".row")).to_have_count(1)
    own.stop()
    expect(page.get_by_text("Connection lost")).to_be_visible()
    expect(page.locator(".row")).to_have_count(1)
    own.start()
    company.start("fork")
    expect(page.get_by_text("Connection lost")).to_be_hidden(timeout=20_000)
    expect(page.locator(".row")).to_have_count(3)


def test_a_stream_that_breaks_is_taken_up_where_it_was(window: Window, company: Company) -> None:
    page = window.open()
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    company.start("fork")
    expect(page.locator(".row")).to_have_count(2)
    window.context.set_offline(True)
    expect(page.get_by_text("Connection lost")).to_be_visible()
    company.start("loop")
    # The place where the stream broke off is named, be it before or after the list has caught up.
    with page.expect_request(lambda one: "/events" in one.url and bool(one.headers.get("last-event-id"))):
        window.context.set_offline(False)
    expect(page.locator(".row")).to_have_count(3)


def record_loss(data: Path, company_id: str) -> None:
    """Write into the company's log that the database has lost what follows its last commit."""

    async def record() -> None:
        async with SqliteStore.open(data / DATABASE) as store:
            first = (await store.log_end(company_id)).commit
            rewound = HistoryRewound(at=datetime.now(UTC), commits=2, first=first, via="failover")
            await store.log(Logged(company_id, rewound))

    with ThreadPoolExecutor(1) as thread:  # this one has the loop of Playwright
        thread.submit(asyncio.run, record()).result()


def test_a_page_that_has_seen_what_the_database_lost_begins_anew_and_says_so(
    windows: Windows, own: Service, tmp_path: Path
) -> None:
    company = own.company()
    company_id = company.send("GET", "/auth/me")["company"]["id"]
    company.start("prior-auth")
    own.stop()
    shutil.copytree(tmp_path / "data", tmp_path / "standby")
    own.start()
    page = windows(own.url).enter(company).page
    company.start("fork")
    expect(page.locator(".row")).to_have_count(3)
    own.stop()
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "standby").rename(tmp_path / "data")
    record_loss(tmp_path / "data", company_id)
    own.start()
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("Look again at what was decided since", timeout=20_000)
    expect(page.get_by_text("Connection lost")).to_be_hidden()
    expect(page.locator(".row")).to_have_count(1)
    page.goto(f"{own.url}/#/audit?show=all")
    expect(page.get_by_text("lost 2 changes that had been confirmed")).to_be_visible()
    page.reload()
    banner.get_by_role("button", name="Dismiss").click()
    expect(banner).to_be_hidden()


def test_a_run_is_followed_while_it_goes_on(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.open("runs", run["id"])
    expect(page.locator(".node.state-parked")).to_have_count(1)
    company.resume(run, "signoff", comment="Good")
    expect(page.locator(".heading .badge")).to_have_text("Completed")
    expect(page.locator(".node.state-parked")).to_have_count(0)
    expect(page.locator(".node.state-skipped")).not_to_have_count(0)
    expect(page.locator(".history")).to_contain_text("approved “Medical director sign-off”")


def test_a_tab_that_nobody_sees_catches_up_when_it_is_seen(window: Window, company: Company) -> None:
    page = window.open()
    expect(page.get_by_role("heading", name="Get started")).to_be_visible()
    page.evaluate(
        """() => { Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true});
                   document.dispatchEvent(new Event('visibilitychange')); }"""
    )
    company.start("prior-auth")
    page.evaluate("() => { delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange')); }")
    expect(page.locator(".row")).to_have_count(1)


def test_a_cancelled_run_and_a_reason_stand_in_the_history(window: Window, company: Company) -> None:
    run = company.start("prior-auth")
    page = window.open("runs", run["id"])
    page.get_by_role("button", name="Cancel the run").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Entered twice")
    dialog.get_by_role("button", name="Cancel the run").click()
    expect(page.locator(".heading .badge")).to_have_text("Cancelled")
    expect(page.locator(".history")).to_contain_text("Entered twice")
    assert company.run(run)["status"] == "cancelled"


def test_the_next_in_the_inbox_is_one_click_away(window: Window, company: Company) -> None:
    first = company.start("prior-auth")
    company.start("loan-underwriting")
    page = window.open()
    expect(page.locator(".row")).to_have_count(2)
    expect(page.locator(".row-main").first).to_have_text("Pay out 15000.00 on application LA-2290?")
    window.gate(first)
    decide(page, "Approve")
    page.get_by_role("link", name="Next in the inbox: LA-2290: Pay out 15000.00").click()
    expect(page.get_by_role("heading", name="Pay out 15000.00 on application LA-2290?", level=1)).to_be_visible()


def test_a_run_keeps_its_picture_when_its_template_has_changed(windows: Windows, tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    shutil.copytree(TEMPLATES, templates)
    service = Service(tmp_path, templates)
    service.start()
    try:
        company = service.company()
        run = company.start("fork")
        service.stop()
        file = templates / "fork.yaml"
        text = file.read_text(encoding="utf-8").replace("version: 1", "version: 2")
        file.write_text(text.replace("Legal signs", "Nobody signs"), encoding="utf-8")
        service.start()
        window = windows(service.url).enter(company)
        page = window.open("runs", run["id"])
        expect(page.locator(".node", has_text="Legal signs")).to_be_visible()
        window.open("templates", "fork")
        expect(page.locator(".node", has_text="Nobody signs")).to_be_visible()
    finally:
        service.stop()

"""How a run is kept, as its page says it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import expect

from daemon.audit.sealer import PUBLIC, Sealer, Signer
from daemon.retention import ArchiveFiles, Archiver
from daemon.runtime.clock import utc_now
from daemon.stores.sqlite.store import SqliteStore
from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.people import members_path
from tests.ui.service import Company, Service


async def archive(data: Path) -> None:
    """Archive what ended within the last days, while the service is stopped."""
    signer = Signer(data / "audit.keys", data / PUBLIC, utc_now)
    async with SqliteStore.open(data / "penstock.db") as store:
        sealer, files = Sealer(store, signer), ArchiveFiles(data / "archive")
        await Archiver(store, sealer, files, lambda: utc_now() + timedelta(days=31)).tick()


def test_a_held_run_and_an_archived_one_say_so(own: Service, windows: Windows) -> None:
    company = own.company()
    held, over = company.start("loan-underwriting"), company.start("loan-underwriting")
    for run in (held, over):
        company.send("POST", f"/process-runs/{run['id']}/cancel", {"reason": "sent twice"})
    company.send("PUT", f"/process-runs/{held['id']}/hold", {"reason": "litigation 2026-114"})
    company.send("PUT", members_path(company).replace("members", "policy"), {"archive_after_days": 30})
    own.stop()
    with ThreadPoolExecutor(1) as beside:  # Playwright has the loop of this thread
        beside.submit(asyncio.run, archive(own.folder / "data")).result()
    own.start()
    window = windows(own.url).enter(company)
    page = window.open("runs", held["id"])
    expect(page.get_by_text("Under legal hold by Ada Marsh")).to_be_visible()
    expect(page.get_by_text("litigation 2026-114")).to_be_visible()
    page = window.open("runs", over["id"])
    expect(page.get_by_text("What this run did is in a file")).to_be_visible()
    expect(page.get_by_text("In the archive.")).to_have_count(2)
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download the archive").click()
    assert b"sent twice" in Path(downloading.value.path()).read_bytes()


def test_an_admin_redacts_an_input_and_the_run_says_who_and_why(window: Window, company: Company) -> None:
    run = company.start("loan-underwriting")
    company.send("POST", f"/process-runs/{run['id']}/cancel", {"reason": "sent twice"})
    name, value = next((name, value) for name, value in run["inputs"].items() if isinstance(value, str))
    page = window.open("runs", run["id"])
    expect(page.get_by_text(value).first).to_be_visible()
    page.get_by_role("button", name="Redact values").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Show what goes")).to_be_disabled()
    dialog.get_by_label(f"Input {name}").check()
    dialog.get_by_label("Reason").fill("a request under article 17")
    dialog.get_by_role("button", name="Show what goes").click()
    expect(dialog).to_contain_text("/events/1/inputs/")
    dialog.get_by_role("button", name="Redact for good").click()
    expect(page.get_by_text("Values were redacted by Ada Marsh")).to_be_visible()
    expect(page.get_by_text("a request under article 17").first).to_be_visible()
    expect(page.get_by_text(value)).to_have_count(0)
    assert value not in str(company.run(run)["inputs"])

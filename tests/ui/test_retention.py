"""How a run is kept, as its page says it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import expect

from daemon.audit.sealer import Sealer
from daemon.audit.signer import PUBLIC, Signer
from daemon.retention.archiver import Archiver
from daemon.retention.files import ArchiveFiles
from daemon.runtime.clock import utc_now
from daemon.stores.sqlite.store import SqliteStore
from tests.ui.conftest import Windows
from tests.ui.people import members_path
from tests.ui.service import Service


async def archive(data: Path) -> None:
    """Archive what ended within the last days, while the service is stopped."""
    signer = Signer(data / "audit.keys", data / PUBLIC, utc_now)
    async with SqliteStore.open(data / "penstock.db") as store:
        sealer, files = Sealer(store, signer), ArchiveFiles(data / "archive")
        await Archiver(store, sealer, files, lambda: utc_now() + timedelta(days=31)).look()


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

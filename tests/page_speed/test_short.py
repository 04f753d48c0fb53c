"""The rig at a small size: what it fills is served, found and scrolled."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.page_speed import measuring
from tests.page_speed.filling import Wanted, fill, key_of
from tests.ui.browser import CHROMIUM
from tests.ui.conftest import TEMPLATES
from tests.ui.service import Service

RUNS, GATES = 300, 120


@pytest.mark.ui
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: apt-get install chromium")
def test_the_lists_of_a_filled_store_are_searched_and_scrolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "TRIES", 1)
    monkeypatch.setattr(measuring, "SCROLLED_S", 0.5)
    service = Service(tmp_path, TEMPLATES)
    service.start()
    company = service.company()
    me = company.send("GET", "/auth/me")
    service.stop()
    fill(tmp_path / "data", Wanted(me["company"]["id"], RUNS, GATES))
    service.start()
    try:
        assert company.send("GET", "/gates/count") == {"open": GATES, "mine": GATES}
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            key = key_of(RUNS // 2)
            inbox = measuring.measured(browser, company, "", {"of a common word": ("medical", "Medical")})
            runs = measuring.measured(browser, company, "runs", {"of one key": (key, key)})
            once = [*measuring.sign_in_shown(browser, service), *measuring.graph_laid_out(browser, company)]
            browser.close()
    finally:
        service.stop()
    assert min(once) > 0
    for figures in (inbox, runs):
        assert figures.first_row[0] > 0
        assert figures.scrolling["down"] > 0
        assert figures.scrolling["rows"] < GATES, "only rows in sight are in the page"
        assert str(figures)

"""`make page-speed`: the lists of the page beside many runs and open gates, in Chromium."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

from tests.page_speed.filling import Wanted, fill, key_of
from tests.page_speed.measuring import Figures, graph_laid_out, measured, said, sign_in_shown
from tests.ui.browser import CHROMIUM
from tests.ui.conftest import TEMPLATES
from tests.ui.service import Company, Service

FIRST_ROW_MS_MAX, SEARCH_MS_MAX, FPS_MIN = 500, 300, 58
SIGN_IN_MS_MAX = LAYOUT_MS_MAX = 1_000
LOOK_S = 1.0
RESTED_S_MAX = 120
IDLE_TICKS = 10


def main() -> int:
    """Print the figures; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="make page-speed", description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--gates", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="keep what was filled there, and take it from there")
    wanted = parser.parse_args()
    if CHROMIUM is None:
        print("There is no Chromium here: apt-get install chromium", file=sys.stderr)
        return 1
    folder = wanted.folder or Path(tempfile.mkdtemp(prefix="penstock-page-"))
    try:
        return look(folder, wanted.runs, wanted.gates)
    finally:
        if wanted.folder is None:
            shutil.rmtree(folder)


def look(folder: Path, runs: int, gates: int) -> int:
    """Fill, serve and measure."""
    folder.mkdir(parents=True, exist_ok=True)
    service, kept = Service(folder, TEMPLATES), folder / "email"
    if not kept.exists():
        began = time.perf_counter()
        service.start()
        company = service.company()
        me = company.send("GET", "/auth/me")
        service.stop()
        fill(folder / "data", Wanted(me["company"]["id"], runs, gates))
        kept.write_text(company.email, encoding="utf-8")
        print(f"{runs:,} runs and {gates:,} open gates, written in {time.perf_counter() - began:.0f} s")
    service.start()
    try:
        return report(service.known(kept.read_text(encoding="utf-8")), runs)
    finally:
        service.stop()


def report(company: Company, runs: int) -> int:
    """Measure each list; 1 if a bar is missed."""
    while not company.send("GET", "/reports/summary")["complete"]:
        time.sleep(LOOK_S)  # what was written behind its back is counted first, as after an upgrade
    _rested(company.service)
    middle = key_of(runs // 2)
    newest = company.send("GET", "/gates/?view=row&order=newest&limit=1")[0]["business_key"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        # Before the lists: a browser that has just started is still busy with itself.
        sign_in, layout = sign_in_shown(browser, company.service), graph_laid_out(browser, company)
        inbox = measured(
            browser, company, "", {"of a common word": ("medical", "Medical"), "of one key": (newest, newest)}
        )
        print(f"Inbox\n{inbox}")
        searches = {"of a common word": ("prior", "Prior"), "of one key": (middle, middle)}
        found = measured(browser, company, "runs", searches)
        print(f"Runs\n{found}")
        print(f"Sign-in\n  shown {'':25}{said(sign_in)}\nGraph of 60 steps\n  laid out {'':22}{said(layout)}")
        browser.close()
    missed = [*_missed("inbox", inbox), *_missed("runs", found)]
    missed += [f"the sign-in takes {median(sign_in):.0f} ms"] if median(sign_in) > SIGN_IN_MS_MAX else []
    missed += [f"the layout of a graph takes {median(layout):.0f} ms"] if median(layout) > LAYOUT_MS_MAX else []
    for line in missed:
        print(line, file=sys.stderr)
    return bool(missed)


def _rested(service: Service) -> None:
    """Return when the service has looked again at the open gates, as it does after each start."""
    assert service.process is not None
    used, before = Path(f"/proc/{service.process.pid}/stat"), -IDLE_TICKS
    for _ in range(RESTED_S_MAX):
        ticks = sum(map(int, used.read_text(encoding="ascii").rpartition(")")[2].split()[11:13]))
        if ticks - before < IDLE_TICKS:
            return
        before = ticks
        time.sleep(LOOK_S)


def _missed(name: str, figures: Figures) -> list[str]:
    slow = [
        f"{name}: the search {what} takes {median(times):.0f} ms"
        for what, times in figures.searches.items()
        if median(times) > SEARCH_MS_MAX
    ]
    if median(figures.first_row) > FIRST_ROW_MS_MAX:
        slow.append(f"{name}: the first row takes {median(figures.first_row):.0f} ms")
    if figures.scrolling["fps"] < FPS_MIN:
        slow.append(f"{name}: {figures.scrolling['fps']:.1f} frames a second")
    return slow


if __name__ == "__main__":
    sys.exit(main())

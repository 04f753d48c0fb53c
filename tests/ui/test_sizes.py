"""Load size, 500 open gates, a graph of 60 steps; `make page-speed` measures the times."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from tests.ui.browser import Window
from tests.ui.conftest import Windows
from tests.ui.service import Company, Service

FIRST_BYTES_MAX = 250_000  # of which 48 KB are the typeface
GATES = 500
SHOWN_MAX = 80

LOADED_BYTES = """[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .reduce((sum, one) => sum + one.encodedBodySize, 0)"""
# Down to the last row, and the most rows that were in the page at any time.
SCROLL = """async (last) => {
  let rows = 0;
  for (let y = 0; y < 1_000_000 && document.querySelector(`[aria-rowindex="${last}"]`) === null; y += 400) {
    window.scrollTo(0, y);
    await new Promise(requestAnimationFrame);
    rows = Math.max(rows, document.querySelectorAll('.table .row').length);
  }
  return rows;
}"""


def test_the_first_load_is_small(windows: Windows, service: Service, company: Company) -> None:
    one = windows(service.url)
    one.page.goto(service.url)
    one.sign_in(company)
    expect(one.page.get_by_role("heading", name="Get started")).to_be_visible()
    assert one.page.evaluate(LOADED_BYTES) < FIRST_BYTES_MAX


def test_five_hundred_open_gates_are_loaded_and_scroll(window: Window, company: Company) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: company.start("prior-auth", {"member_id": f"M-{number}"}), range(GATES)))
    page = window.open()
    expect(page.get_by_text(f"{GATES} waiting for your decision")).to_be_visible(timeout=30_000)
    expect(page.locator(".row").nth(5)).to_be_visible()
    assert page.evaluate(SCROLL, GATES + 1) < SHOWN_MAX, "only rows in sight are in the page"
    last = page.locator(f'[aria-rowindex="{GATES + 1}"]')
    expect(last).to_be_visible()
    last.locator(".row-main").focus()
    page.keyboard.press("k")
    expect(page.locator(f'[aria-rowindex="{GATES}"] .row-main')).to_be_focused()
    page.get_by_label("Risk").select_option("critical")
    expect(page.get_by_role("heading", name="No gate matches these filters")).to_be_visible()


def test_a_graph_of_sixty_steps_is_laid_out(window: Window) -> None:
    page = window.open("templates", "sixty")
    expect(page.locator(".node")).to_have_count(60)
    assert page.evaluate("performance.getEntriesByName('layout of 60 steps').length") == 1

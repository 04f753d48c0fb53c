"""What somebody at the page waits for: the sign-in, the first row, what a search finds, frames
while scrolling, a graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.ui.browser import Window
from tests.ui.service import Company, Service

TRIES = 7
SCROLLED_S = 4.0
PIXELS = 120
"""Per frame, at 60 frames a second: a fast wheel."""
SEEN = "first row after "
# Says when the first row stood in the page, counted from the begin of its loading. A locator that
# waits for it would have the browser compute for the tool.
FIRST_ROW = """(seen) => {
  const observer = new MutationObserver(() => {
    if (!document.querySelector('.table .row')) return;
    observer.disconnect();
    console.info(seen + performance.now());
  });
  observer.observe(document, {childList: true, subtree: true});
}"""
# Types as a person does, all at once, and says how long it takes until the rows are those that were
# found.
SEARCH = """async ([text, wanted]) => {
  const field = document.querySelector('.search input');
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  set.call(field, text);
  const begun = performance.now();
  field.dispatchEvent(new Event('input', {bubbles: true}));
  const found = () => {
    const rows = [...document.querySelectorAll('.table:not(.stale) .row')];
    return rows.length > 0 && rows.every((row) => row.textContent.includes(wanted));
  };
  while (!found()) {
    await new Promise(requestAnimationFrame);
    if (performance.now() - begun > 30000) throw new Error(`${text} was not found`);
  }
  return performance.now() - begun;
}"""
LAYOUT = "performance.getEntriesByName('layout of 60 steps').at(-1).duration"
SCROLL = """async ([pixels, seconds]) => {
  const long = [];
  new PerformanceObserver((list) => long.push(...list.getEntries().map((one) => one.duration)))
    .observe({type: 'longtask'});
  const frames = [];
  let last = await new Promise(requestAnimationFrame);
  const begun = last;
  while (last - begun < seconds * 1000) {
    window.scrollBy(0, pixels);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  frames.sort((one, other) => one - other);
  const at = (part) => frames[Math.min(frames.length - 1, Math.floor(frames.length * part))];
  return {frames: frames.length,
          fps: frames.length / ((last - begun) / 1000), middle: at(0.5), most: at(0.95), worst: at(1),
          long: long.length, longest: Math.max(0, ...long), rows: document.querySelectorAll('.table .row').length,
          down: window.scrollY};
}"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds of several tries, and what was seen while scrolling."""

    first_row: list[float]
    first_cpu: list[float]
    """What the main thread computed until then; other programs do not count."""
    searches: dict[str, list[float]]
    scrolling: dict[str, Any]
    list_bytes: int

    def __str__(self) -> str:
        frames, lines = self.scrolling, [f"  first row {'':21}{said(self.first_row)}"]
        lines += [f"    of which computed {'':13}{said(self.first_cpu)}"]
        lines += [f"  search {name:24}{said(times)}" for name, times in self.searches.items()]
        lines += [
            f"  scrolling: {frames['fps']:.1f} frames a second",
            f"    computed for a frame: {frames['cpu']:.1f} ms",
            f"    a frame: {frames['middle']:.1f} ms, 95 % {frames['most']:.1f}, the worst {frames['worst']:.1f}",
            f"    tasks above 50 ms: {frames['long']}, the longest {frames['longest']:.0f} ms",
            f"    {frames['rows']} rows in the page at {frames['down']:,.0f} pixels",
            f"  first page of rows: {self.list_bytes:,} bytes",
        ]
        return "\n".join(lines)


def said(times: list[float]) -> str:
    """Milliseconds of several tries in a line."""
    return f"{median(times):6.0f} ms (best {min(times):.0f}, worst {max(times):.0f} of {len(times)})"


def sign_in_shown(browser: Browser, service: Service) -> list[float]:
    """Milliseconds until somebody can sign in, in a window that has loaded the page before."""
    window, times = Window(browser, service.url), []
    try:
        window.page.goto(service.url)
        for _ in range(TRIES):
            window.page.reload()
            expect(window.page.get_by_role("heading", name="Sign in")).to_be_visible()
            times.append(float(window.page.evaluate("performance.now()")))
        return times
    finally:
        window.close()


def graph_laid_out(browser: Browser, company: Company) -> list[float]:
    """Milliseconds that the layout of 60 steps takes, once its worker is there."""
    window, times = Window(browser, company.service.url).enter(company), []
    try:
        for _ in range(TRIES):
            window.open("templates", "loop")
            expect(window.page.locator(".node")).to_have_count(3)
            window.open("templates", "sixty")
            expect(window.page.locator(".node")).to_have_count(60)
            times.append(float(window.page.evaluate(LAYOUT)))
            window.page.reload()
        return times
    finally:
        window.close()


def measured(browser: Browser, company: Company, place: str, searches: dict[str, tuple[str, str]]) -> Figures:
    """Look at a list of the page; a search is a text, and what each row then has to say."""
    first = [_first_row(browser, company, place) for _ in range(TRIES)]
    window = Window(browser, company.service.url).enter(company)
    try:
        sizes: list[int] = []
        window.page.on("response", lambda response: sizes.append(_size(response)))
        _settled(window.page, company.service.url, place)
        found = {name: _searched(window, company, place, asked) for name, asked in searches.items()}
        _settled(window.page, company.service.url, place)
        computed = Computed(window.page)
        scrolling = window.page.evaluate(SCROLL, [PIXELS, SCROLLED_S])
        scrolling["cpu"] = computed.milliseconds() / scrolling["frames"]
        return Figures([one for one, _ in first], [one for _, one in first], found, scrolling, max(sizes, default=0))
    finally:
        window.close()


class Computed:
    """The processor time of a page's main thread from now on."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._before = self._seconds()

    def milliseconds(self) -> float:
        return (self._seconds() - self._before) * 1_000

    def _seconds(self) -> float:
        found = {one["name"]: one["value"] for one in self._session.send("Performance.getMetrics")["metrics"]}
        return float(found["TaskDuration"])


def _size(response: Any) -> int:
    is_list = "view=row" in response.url and response.ok and "limit=50" in response.url
    return int(response.headers.get("content-length", 0)) if is_list else 0


def _first_row(browser: Browser, company: Company, place: str) -> tuple[float, float]:
    """In a fresh window, without a cache; and what was computed."""
    window = Window(browser, company.service.url)
    try:
        window.context.add_init_script(f"({FIRST_ROW})({SEEN!r})")
        window.sign_in_by_cookie(company)
        computed = Computed(window.page)
        with window.page.expect_console_message(lambda message: message.text.startswith(SEEN)) as said_by_page:
            window.page.goto(f"{company.service.url}/#/{place}")
        return float(said_by_page.value.text.removeprefix(SEEN)), computed.milliseconds()
    finally:
        window.close()


def _searched(window: Window, company: Company, place: str, asked: tuple[str, str]) -> list[float]:
    times = []
    for _ in range(TRIES):
        _settled(window.page, company.service.url, place)
        times.append(float(window.page.evaluate(SEARCH, list(asked))))
    return times


def _settled(page: Page, url: str, place: str) -> None:
    """The list without a search, as it is shown at first."""
    page.goto(f"{url}/#/audit")
    page.goto(f"{url}/#/{place}")
    page.locator(".table:not(.stale) .row").nth(5).wait_for(state="attached")
    page.evaluate("() => new Promise((done) => requestIdleCallback(done, {timeout: 2000}))")

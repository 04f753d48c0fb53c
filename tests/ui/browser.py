"""Browser windows (Chromium), and checks that hold for every page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from daemon.web.cookies import cookie_at
from tests.ui.service import PASSWORD, Company

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parents[2] / "daemon" / "ui" / "node_modules" / "axe-core" / "axe.min.js"
WIDE, NARROW = (1280, 900), (360, 740)
TIMEOUT_MS = 10_000
# The browser logs these for every response that is not 2xx; the page handles those.
EXPECTED = ("Failed to load resource", "net::ERR_")


class Window:
    """A browser window that records console errors and requests to other hosts."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        size: tuple[int, int] = WIDE,
        scheme: str = "light",
        locale: str = "en-US",
        timezone: str | None = None,
    ) -> None:
        self.url = url
        self.context: BrowserContext = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            locale=locale,
            timezone_id=timezone,
        )
        self.context.set_default_timeout(TIMEOUT_MS)
        self.errors: list[str] = []
        self.foreign_requests: list[str] = []
        self.page = self.tab()

    def tab(self) -> Page:
        page = self.context.new_page()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._on_request(request.url))
        return page

    def enter(self, company: Company) -> Self:
        """Sign in by cookie: faster than `sign_in`, because no password is hashed."""
        self.sign_in_by_cookie(company)
        self.page.goto(self.url)
        expect(self.page.get_by_role("navigation", name="Main")).to_be_visible()
        return self

    def sign_in_by_cookie(self, company: Company) -> None:
        self.context.add_cookies(
            [
                {
                    "name": cookie_at(urlsplit(self.url).netloc),
                    "value": company.token,
                    "url": self.url,
                    "httpOnly": True,
                    "sameSite": "Strict",
                }
            ]
        )

    def sign_in(self, company: Company) -> Self:
        self.page.goto(self.url)
        self.page.get_by_label("E-mail address").fill(company.email)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("navigation", name="Main")).to_be_visible()
        return self

    def open(self, *parts: str, page: Page | None = None) -> Page:
        one = page or self.page
        one.goto(f"{self.url}/#/{'/'.join(parts)}")
        return one

    def gate(self, run: Any, step: str | None = None, page: Page | None = None) -> Page:
        return self.open("runs", run["id"], "gates", step or run["parked_at"], page=page)

    def close(self) -> None:
        for page in self.context.pages:
            page.unroute_all(behavior="ignoreErrors")
        self.context.close()
        assert not self.errors, self.errors
        assert not self.foreign_requests, self.foreign_requests

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not any(text in message.text for text in EXPECTED):
            self.errors.append(message.text)

    def _on_request(self, url: str) -> None:
        if not url.startswith((self.url, "data:", "blob:")):
            self.foreign_requests.append(url)


def decide(
    page: Page, word: str, comment: str = "", *, comment_label: str = "Comment", confirm: str = "Confirm"
) -> None:
    """Choose a decision and confirm it."""
    page.get_by_role("radio", name=word).check()
    if comment:
        page.get_by_label(comment_label).fill(comment)
    page.get_by_role("button", name=f"{confirm}: {word}").click()

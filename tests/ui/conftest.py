"""One service per worker, one browser per module, one company and window per test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.ui.browser import CHROMIUM, TIMEOUT_MS, Window
from tests.ui.endpoint import Endpoint
from tests.ui.service import Company, Service

TEMPLATES = Path(__file__).parent / "templates"
Windows = Callable[..., Window]

expect.set_options(timeout=TIMEOUT_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests without Chromium."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.ui)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium here: apt-get install chromium"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Per module, because Playwright's event loop keeps other tests of the worker from having
    one.
    """
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """For tests that do not stop it."""
    one = Service(tmp_path_factory.mktemp("service"), TEMPLATES)
    one.start()
    yield one
    one.stop()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Service]:
    """A service that a test may stop."""
    one = Service(tmp_path, TEMPLATES)
    one.start()
    yield one
    one.stop()


@pytest.fixture
def company(service: Service) -> Company:
    return service.company()


@pytest.fixture
def windows(browser: Browser) -> Iterator[Windows]:
    opened: list[Window] = []

    def make(url: str, **how: Any) -> Window:
        opened.append(Window(browser, url, **how))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as one:
        yield one


@pytest.fixture
def window(windows: Windows, service: Service, company: Company) -> Window:
    """A window with a signed-in user."""
    return windows(service.url).enter(company)

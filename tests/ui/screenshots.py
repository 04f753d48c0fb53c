"""`make screenshots`: each page, light and dark, wide and narrow, into docs/img."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.ui.browser import CHROMIUM, NARROW, WIDE, Window
from tests.ui.people import colleague
from tests.ui.service import Company, Service

FOLDER = Path(__file__).parents[2] / "docs" / "img"
BYTES_MAX = 150_000
COLOURS = 160


def main() -> int:
    """Write them all; 1 when one of them is too large to be kept in the tree."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.png"):
        old.unlink()
    with _service() as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        company = service.company(email="ada@example-health.test")
        runs = _lived_in(company)
        for scheme in ("light", "dark"):
            for name, size in (("wide", WIDE), ("narrow", NARROW)):
                _all(browser, company, runs, scheme, (name, size))
    sizes = {one.name: one.stat().st_size for one in sorted(FOLDER.glob("*.png"))}
    for file, count in sizes.items():
        print(f"{file:32} {count:>8}")
    print(f"{len(sizes)} pictures, {sum(sizes.values())} bytes")
    return int(max(sizes.values()) > BYTES_MAX)


@contextmanager
def _service() -> Iterator[Service]:
    with tempfile.TemporaryDirectory() as folder:
        templates = Path(folder) / "templates"
        templates.mkdir()
        service = Service(Path(folder), templates)
        service.start()
        try:
            yield service
        finally:
            service.stop()


def _lived_in(company: Company) -> dict[str, Any]:
    """A company that has done something."""
    company.send(
        "PUT",
        "/connectors/loan-fund",
        {
            "base_url": "https://bank.example.com",
            "path": "/v1/disbursements",
            "method": "POST",
            "reversible": True,
            "auth_type": "bearer",
            "auth_token": "secret",
            "body_map": {"application": "application_id", "amount": "amount"},
        },
    )
    for vertical in ("aml", "refund", "insurance-claim", "chargeback-representment", "vendor-onboarding"):
        company.start(vertical)
    employee = company.start("employee-offboarding")
    ended = company.start("prior-auth", {"member_id": "M-204417", "procedure_code": "72148", "appealed": True})
    company.resume(ended, "signoff", "denied", comment="Six weeks of therapy are not on record.")
    company.resume(ended, "appeal-review", comment="The provider has sent the missing records.")
    cancelled = company.start("invoice-approval")
    company.send("POST", f"/process-runs/{cancelled['id']}/cancel", {"reason": "Entered twice"})
    parked, loan = company.start("prior-auth"), company.start("loan-underwriting")
    key = company.send("POST", "/api-keys", {"name": "triage agent", "role": "member", "kind": "agent"})["key"]
    proposal = {"gate": "signoff", "decision": "approved", "confidence": 0.86, "comment": "All criteria are met."}
    company.service.send("POST", f"/process-runs/{parked['id']}/proposals", proposal, key)
    colleague(company, "Grace", "manager")
    return {"parked": parked, "loan": loan, "ended": ended, "employee": employee}


def _all(
    browser: Browser, company: Company, runs: dict[str, Any], scheme: str, frame: tuple[str, tuple[int, int]]
) -> None:
    name, size = frame
    window = Window(browser, company.service.url, size=size, scheme=scheme)
    page = window.page

    def take(part: str, ready: str) -> None:
        expect(page.locator(ready).first).to_be_visible()
        expect(page.locator(".skeleton")).to_have_count(0)
        expect(page.locator("div.thumbnail")).to_have_count(0, timeout=20_000)
        page.mouse.move(0, 0)
        _keep(page.screenshot(animations="disabled"), FOLDER / f"{part}-{scheme}-{name}.png")

    page.goto(window.url)
    take("sign-in", ".sign-in")
    page.get_by_role("button", name="Create an account").click()
    take("register", ".sign-in")
    stranger = company.service.company("Harbour Clinic")
    window.sign_in(stranger)
    take("inbox-empty", ".first-steps")
    window.context.clear_cookies()
    page.reload()
    window.sign_in(company)
    for part, place, ready in _places(runs):
        window.open(*place)
        take(part, ready)
    _states(page, take, window, runs)
    window.close()


def _keep(picture: bytes, file: Path) -> None:
    """With a palette of its own a picture of text is a third of what it was, and looks the same."""
    with Image.open(io.BytesIO(picture)) as one:
        one.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            file, optimize=True
        )


def _places(runs: dict[str, Any]) -> list[tuple[str, tuple[str, ...], str]]:
    parked, loan, ended = runs["parked"], runs["loan"], runs["ended"]
    return [
        ("inbox", (), ".row"),
        ("gate", ("runs", parked["id"], "gates", "signoff"), ".preview"),
        ("gate-live", ("runs", loan["id"], "gates", loan["parked_at"]), ".preview"),
        ("dashboard", ("dashboard",), ".key-number"),
        ("runs", ("runs",), ".row"),
        ("run", ("runs", ended["id"]), ".node"),
        ("run-waiting", ("runs", runs["employee"]["id"]), ".node"),
        ("templates", ("templates",), "svg.thumbnail"),
        ("template", ("templates", "prior-auth"), ".node"),
        ("connectors", ("connectors",), ".row"),
        ("connector", ("connectors", "loan-fund"), ".card"),
        ("people", ("people",), ".member-actions"),
        ("autonomy", ("autonomy",), ".card"),
        ("audit", ("audit",), ".history"),
    ]


def _states(page: Page, take: Any, window: Window, runs: dict[str, Any]) -> None:
    """What is seen in passing: a question, a gate that is decided already, a connection that is
    lost.
    """
    window.open("connectors", "chart-fetch")
    page.get_by_label("Base URL").fill("https://records.example.com")
    page.get_by_label("Live: send calls").check()
    page.get_by_role("button", name="Save").click()
    take("connector-asks", "dialog")
    page.keyboard.press("Escape")
    window.gate(runs["ended"], "signoff")
    take("decided", ".result")
    window.open()
    window.context.set_offline(True)
    take("offline", ".offline")
    window.context.set_offline(False)


if __name__ == "__main__":
    sys.exit(main())

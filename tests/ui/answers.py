"""Answers of the service that a test has been at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route

BANK = {"origin": "https://bank.example.com", "method": "POST", "path": "/pay", "version": 3}
REACH = {
    "step_id": "issue-auth",
    "label": "Issue the number",
    "tool": "issue",
    "decisions": ["approved"],
    "mode": "live",
    "connector": BANK,
    "call": None,
}


def answered(page: Page, run: Any, change: Callable[[dict[str, Any]], None]) -> None:
    """Have the run answered with a gate that `change` has been at."""

    def change_it(route: Route) -> None:
        found = route.fetch().json()
        for gate in found["gates"]:
            change(gate)
        route.fulfill(json=found)

    page.route(f"**/process-runs/{run['id']}", change_it)

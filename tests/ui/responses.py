"""Responses of the service, changed by a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route

CONNECTOR = {"origin": "https://bank.example.com", "method": "POST", "path": "/pay", "version": 3}
PLANNED_CALL = {
    "step_id": "issue-auth",
    "label": "Issue the number",
    "tool": "issue",
    "decisions": ["approved"],
    "mode": "live",
    "connector": CONNECTOR,
    "call": None,
}


def patch_gates(page: Page, run: Any, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the gates in the responses for a run."""

    def change_it(route: Route) -> None:
        found = route.fetch().json()
        for gate in found["gates"]:
            change(gate)
        route.fulfill(json=found)

    page.route(f"**/process-runs/{run['id']}", change_it)

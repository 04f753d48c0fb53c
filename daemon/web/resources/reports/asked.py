"""What requests for reports ask: days, filters and pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from aiohttp import web

from daemon.model.reports.questions import DAYS_DEFAULT, DAYS_MAX, DaySpan
from daemon.web.bodies import page_limit
from daemon.web.middleware.auth import principal_of
from daemon.web.problems import Problem, invalid, pointer
from daemon.web.resources.lists.filters import one_of
from daemon.web.resources.pages import page_response
from daemon.web.responses import from_cursor
from daemon.web.services import SERVICES

T = TypeVar("T")
DAYS = ("first_day", "last_day")
FLAGS = {"true": True, "false": False}
MICROSECONDS = 1_000_000


async def caught_up(request: web.Request) -> bool:
    """Count what was committed so far; returns whether that is all."""
    return await request.app[SERVICES].reports.catch_up(principal_of(request).company_id)


def span_of(request: web.Request) -> DaySpan:
    """The days that are asked for; without any the last ones up to today."""
    today = request.app[SERVICES].now().astimezone(UTC).date()
    last = _day(request, "last_day", today)
    if not today - timedelta(days=DAYS_MAX) < last < date.max:
        raise invalid((pointer("last_day"), f"has to be one of the last {DAYS_MAX} days, or later, before {date.max}"))
    first = _day(request, "first_day", last - timedelta(days=DAYS_DEFAULT - 1))
    if first > last:
        raise invalid((pointer("first_day"), "has to be the last day or before it"))
    if first <= today - timedelta(days=DAYS_MAX):
        raise invalid((pointer("first_day"), f"has to be one of the last {DAYS_MAX} days, today included"))
    return DaySpan(first, last)


def flag(request: web.Request, name: str) -> bool | None:
    text = one_of(request, name, tuple(FLAGS))
    return None if text is None else FLAGS[text]


def seconds(waited_us: int | None) -> float | None:
    return None if waited_us is None else waited_us / MICROSECONDS


def row_after(request: web.Request, kind: str) -> tuple[str, str, str] | None:
    """The last row of the page before: its time, run, and seq or step."""
    text = from_cursor(request, kind)
    if text is None:
        return None
    try:
        at, run_id, last = map(str, json.loads(text))
        datetime.fromisoformat(at)
    except (ValueError, TypeError):
        raise Problem("malformed_cursor", "The cursor is none that this list has given.") from None
    return at, run_id, last


def row_name(at: datetime, run_id: str, last: object) -> str:
    """How the page behind a row names it."""
    return json.dumps([at.astimezone(UTC).isoformat(timespec="microseconds"), run_id, str(last)])


async def numbers_page(
    request: web.Request,
    kind: str,
    found: Sequence[T],
    *,
    key: Callable[[T], Sequence[str]],
    show: Callable[[T], Any],
) -> web.Response:
    """A page of numbers, which are few: all are counted, and those behind the cursor shown."""
    limit, after = page_limit(request), from_cursor(request, kind)
    behind = None if after is None else _names(after)
    left = [one for one in found if behind is None or list(key(one)) > behind]
    return await page_response(
        request, left[: limit + 1], limit, kind, name=lambda last: json.dumps(key(last)), show=show
    )


def _names(text: str) -> list[str]:
    try:
        return [str(name) for name in json.loads(text)]
    except (ValueError, TypeError):
        raise Problem("malformed_cursor", "The cursor is none that this list has given.") from None


def _day(request: web.Request, name: str, default: date) -> date:
    text = request.query.get(name)
    if text is None:
        return default
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise invalid((pointer(name), "has to be a day, as 2026-03-02")) from None

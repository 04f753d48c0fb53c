"""Pages of lists with their filters: rendered beside the event loop where they are large."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from aiohttp import web

from daemon.model.event_log import HistoryFilter
from daemon.model.inbox import asked_words
from daemon.model.pages import Page
from daemon.runtime.fairness import FairSemaphore
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of
from daemon.web.problems import invalid, pointer
from daemon.web.responses import list_response, next_page, to_cursor, within_bytes
from daemon.web.services import SERVICES

T = TypeVar("T")


LISTS_AT_ONCE, LISTS_OF_A_COMPANY = 4, 1
LISTS_IN_TURN = web.AppKey("lists_in_turn", FairSemaphore)
REPORTS_IN_TURN = web.AppKey("reports_in_turn", FairSemaphore)
"""Reports wait until all is counted; the lists of their company need not."""


@asynccontextmanager
async def in_turn(request: web.Request, whose: web.AppKey[FairSemaphore] = LISTS_IN_TURN) -> AsyncIterator[None]:
    """Make few lists at once, since each may hold a page of stored bytes; of a company's only one.

    Several threads that read for one company keep the event loop from the interpreter's lock.
    """
    async with AsyncExitStack() as stack:
        with slot_released():
            await stack.enter_async_context(request.app[whose].hold(principal_of(request).company_id))
        yield


async def page_response(
    request: web.Request,
    found: Sequence[T],
    limit: int,
    kind: str,
    *,
    name: Callable[[T], object],
    show: Callable[[T], Any],
) -> web.Response:
    """A page of a list; `found` has one entry more than `limit` where another page follows."""
    items = await rendered(request, found, limit, show)
    further = to_cursor(kind, str(name(found[len(items) - 1]))) if goes_on(found, items) else None
    return list_response(items, None if further is None else next_page(request, further))


async def rendered(request: web.Request, found: Sequence[T], limit: int, show: Callable[[T], Any]) -> list[bytes]:
    """The first entries of a page as JSON, at most `limit`; a large page beside the event loop."""
    size = found.size if isinstance(found, Page) else 0
    work = partial(within_bytes, found[:limit], show)
    return await request.app[SERVICES].offload.run_by_size(principal_of(request).company_id, size, work)


def goes_on(found: Sequence[Any], items: Sequence[bytes]) -> bool:
    """Whether entries follow those that are shown."""
    return len(found) > len(items) or (isinstance(found, Page) and found.more)


Word = TypeVar("Word", bound=str)
ROW = "row"
SUMMARY = "summary"
HISTORY = ("type", "by", "since", "until", "q")
TYPES_MAX = 20
_TYPE = re.compile(r"[a-z_]{1,40}")


def moment(request: web.Request, name: str) -> datetime | None:
    """A time with a zone; 422 for anything else."""
    given = request.query.get(name)
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    except (OverflowError, ValueError):  # it is no time, or is beyond all times in UTC
        pass
    raise invalid((pointer(name), "has to be a time with a zone, as 2026-03-02T09:00:00Z"))


def one_of(request: web.Request, name: str, known: Sequence[Word]) -> Word | None:
    """One of these words; 422 for any other."""
    given = request.query.get(name)
    found = next((word for word in known if word == given), None)
    if given is not None and found is None:
        raise invalid(
            (pointer(name), f"has to be {known[0]}" if len(known) == 1 else f"has to be one of {_named(known)}")
        )
    return found


def words(request: web.Request) -> tuple[str, ...] | None:
    given = request.query.get("q")
    return None if given is None else asked_words(given)


def history_filter(request: web.Request) -> HistoryFilter:
    """Which events of a history."""
    given = request.query.get("type")
    types = None if given is None else tuple(given.split(","))
    if types is not None and not (len(types) <= TYPES_MAX and all(map(_TYPE.fullmatch, types))):
        raise invalid((pointer("type"), f"has to be at most {TYPES_MAX} types of events with commas between"))
    since, until = moment(request, "since"), moment(request, "until")
    return HistoryFilter(types, request.query.get("by"), request.query.get("q"), since, until)


def _named(known: Sequence[str]) -> str:
    return ", ".join(known)

"""The filters of lists, as query parameters have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from aiohttp import web

from daemon.model.events.history_filter import HistoryFilter
from daemon.model.inbox import asked_words
from daemon.web.problems import invalid, pointer

T = TypeVar("T", bound=str)
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
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise invalid((pointer(name), "has to be a time with a zone, as 2026-03-02T09:00:00Z"))
    return found


def one_of(request: web.Request, name: str, known: Sequence[T]) -> T | None:
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

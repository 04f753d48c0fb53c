"""Saved views: what a person searches and filters by again and again."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from daemon.contract.base import Request, Response, example

LISTS = ("inbox", "runs", "audit")
QUERY_CHARS_MAX = 2_000
NAME_CHARS_MAX = 80
List = Annotated[str, Field(json_schema_extra={"enum": list(LISTS)})]


class PutView(Request):
    """The search and the filters of a view, as the page's address has them."""

    model_config = example({"query": "risk=high&age=day"})

    query: Annotated[str, Field(max_length=QUERY_CHARS_MAX)]


class SavedView(Response):
    """A view of a list that the caller saved, and sees alone."""

    model_config = example(
        {"list": "inbox", "name": "High and old", "query": "risk=high&age=day", "saved_at": "2026-01-05T09:00:00Z"}
    )

    list: List
    name: str
    query: str
    saved_at: datetime

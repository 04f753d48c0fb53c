"""Delegations: who may decide as another member for a time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from daemon.contract.api_keys import Moment
from daemon.contract.base import Request, Response, example

VERTICALS_MAX = 100
Vertical = Annotated[str, Field(min_length=1, max_length=200)]
MADE = {
    "to": "0199c1f0-0000-7000-8000-000000000007",
    "from": "2026-12-21T08:00:00Z",
    "until": "2027-01-04T08:00:00Z",
    "verticals": ["prior-auth"],
}


class NewDelegation(Request):
    """Who may decide as the caller, and when; without `verticals`, in all of them."""

    model_config = ConfigDict(serialize_by_alias=True, **example(MADE))

    to: Annotated[str, Field(max_length=100)]
    begins: Moment = Field(alias="from")
    until: Moment
    verticals: list[Vertical] | None = Field(default=None, min_length=1, max_length=VERTICALS_MAX)


class Delegation(Response):
    """A member, `to`, may decide as another, `giver`, from then until then; both are member ids."""

    model_config = ConfigDict(
        serialize_by_alias=True,
        **example(
            {
                "id": "0199c1f0-0000-7000-8000-000000000009",
                "giver": "0199c1f0-0000-7000-8000-000000000002",
                **MADE,
                "created_at": "2026-12-18T16:00:00Z",
            }
        ),
    )

    id: str
    giver: str
    to: str
    begins: datetime = Field(alias="from")
    until: datetime
    verticals: list[str] | None = None
    created_at: datetime

"""Members of a company, invitations, groups and delegations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from daemon.contract.accounts import Code, Moment
from daemon.contract.base import Email, Name, Request, Response, example

AssignableRole = Literal["viewer", "member", "manager", "admin"]
"""An owner is made by handing the company over alone."""
Id = Annotated[str, Field(max_length=100)]
Token = Annotated[str, Field(min_length=1, max_length=200)]
GROUP_MEMBERS_MAX = 1_000


class NewMember(Request):
    """A person to invite, and the role that the person is to have."""

    model_config = example({"email": "grace@example.test", "role": "manager"})

    email: Email
    role: AssignableRole


class RoleChange(Request):
    """Another role."""

    model_config = example({"role": "admin"})

    role: AssignableRole


class HandOver(Request):
    """The member who becomes the owner."""

    model_config = example({"member_id": "0199c1f0-0000-7000-8000-000000000007"})

    member_id: Id


class InvitationToken(Request):
    """The token of an invitation."""

    model_config = example({"token": "q3V0bGhVZmF1bHR5LXRva2VuLW9mLWFuLWludml0YXRpb24"})

    token: Token = Field(repr=False)


class CompanySwitch(Request):
    """The company to go to; password and code where the session is not proven enough for it."""

    model_config = example({"company_id": "0199c1f0-0000-7000-8000-000000000002"})

    company_id: Id
    password: str | None = Field(None, max_length=1_000, repr=False)
    code: Code | None = None


class GroupDefinition(Request):
    """The members of a group, by their ids."""

    model_config = example({"members": ["0199c1f0-0000-7000-8000-000000000007"]})

    members: list[Id] = Field(max_length=GROUP_MEMBERS_MAX)


class DisplayName(Request):
    """The name that others are shown."""

    model_config = example({"name": "Grace Hopper"})

    name: Name | None


class Invitation(Response):
    """The token of an invitation, which is shown once, when it expires, and whether it was mailed.

    An address that does not accept gets few mails a day.
    """

    token: str = Field(repr=False)
    expires_at: datetime
    mailed: bool = False


class Member(Response):
    """A person's membership of a company; a pending one has been invited."""

    id: str
    email: str
    name: str | None = None
    role: str
    status: Literal["pending", "active"]
    kind: Literal["person"] = "person"
    invited_by: str | None = None
    invited_at: datetime | None = None
    joined_at: datetime | None = None


class InvitedMember(Member):
    """A member who was just invited."""

    invitation: Invitation


class InvitationDetails(Response):
    """What an invitation is for; `has_account` if the address can log in."""

    company: str
    email: str
    role: str
    has_account: bool
    expires_at: datetime


class Group(Response):
    """Members under a name."""

    name: str
    members: list[str]


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

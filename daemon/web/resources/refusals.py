"""Refusals of what concerns people, as problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from daemon.identity.invitations import InvitationEnded, UnknownInvitation
from daemon.identity.people import (
    LastOwner,
    NotPermitted,
    TooMany,
    UnknownGroup,
    UnknownMember,
)
from daemon.model import AlreadyMember
from daemon.model.budgets import BudgetExceeded
from daemon.web.problems import Problem, not_found


@contextmanager
def refusing() -> Iterator[None]:
    """Turn refusals of what concerns people into problems."""
    try:
        yield
    except (UnknownMember, UnknownGroup, UnknownInvitation):
        raise not_found() from None
    except InvitationEnded:
        detail = "The invitation was used, replaced or withdrawn, or has expired: ask for another."
        raise Problem("invitation_expired", detail) from None
    except AlreadyMember:
        raise Problem("already_member", "The person is a member of the company.") from None
    except LastOwner:
        detail = "A company has one owner, who stays until the company is handed over."
        raise Problem("last_owner", detail) from None
    except NotPermitted as refused:
        raise _forbidden(refused) from None
    except TooMany as refused:
        detail = f"A company has at most {refused.limit} {refused.what}."
        raise BudgetExceeded(f"company_{refused.what}", refused.limit, detail) from None


def _forbidden(refused: NotPermitted) -> Problem:
    if refused.reason == "email":
        return Problem("forbidden", "The invitation is for another e-mail address.", {"reason": "email"})
    more = {"required": refused.required, "reason": "role"}
    return Problem("forbidden", f"This needs the role {refused.required}.", more)

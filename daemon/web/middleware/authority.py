"""Authority: whether who makes a request may do what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from aiohttp import web

from actors.core.people.authority import ACTIONS, Action, Refusal, refusal
from daemon.web.middleware.auth import authenticate_again, principal_of
from daemon.web.operations import KEYED, Endpoint
from daemon.web.problems import Problem

MACHINE = "machine"


class Needed(NamedTuple):
    """The action of an endpoint, and whether a repeat is answered whatever roles have become."""

    action: Action
    keyed: bool


AUTHORITY = web.AppKey("authority", Mapping[Any, Needed])
"""What each handler needs; those without an entry need no token."""


def needed_by(endpoint: Endpoint) -> Needed:
    operation = endpoint.operation
    return Needed(ACTIONS[operation.action], KEYED[0] in operation.headers)


def permit(request: web.Request) -> None:
    """403 for a role or kind of principal that may not do this, unless it may be a repeat."""
    needed = request.app[AUTHORITY].get(request.match_info.handler)
    if needed is not None and not (needed.keyed and KEYED[0] in request.headers):
        _check(request, needed.action)


async def permit_new(request: web.Request) -> None:
    """403 as `permit`, for what is no repeat; 401 where the right has ended.

    It is asked after a request has waited: what changed meanwhile counts.
    """
    needed = request.app[AUTHORITY].get(request.match_info.handler)
    if needed is not None:
        await authenticate_again(request)
        _check(request, needed.action)


def _check(request: web.Request, action: Action) -> None:
    principal = principal_of(request)
    refused = refusal(principal.role, principal.kind, action)
    if refused is not None:
        raise forbidden(action, refused)


def forbidden(action: Action, refused: Refusal) -> Problem:
    more = {"required": refused.required, "reason": refused.reason}
    if refused.reason == MACHINE:
        return Problem("forbidden", "Only people may do this, not an API key.", more)
    return Problem("forbidden", f"This needs the role {refused.required}: {action.summary.lower()}.", more)

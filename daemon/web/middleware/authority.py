"""Authority: whether who makes a request may do what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from actors.core.people.authority import ACTIONS, Action, Refusal, refusal
from daemon.web.middleware.auth import authenticate_again, principal_of
from daemon.web.operations import Endpoint
from daemon.web.problems import Problem

MACHINE = "machine"


AUTHORITY = web.AppKey("authority", Mapping[Any, Action])
"""The action of each handler; those without an entry need no token."""


def needed_by(endpoint: Endpoint) -> Action:
    return ACTIONS[endpoint.operation.action]


def permit(request: web.Request) -> None:
    """403 for a role or kind of principal that may not do this, a repeat neither."""
    action = request.app[AUTHORITY].get(request.match_info.handler)
    if action is not None:
        _check(request, action)


async def permit_again(request: web.Request) -> None:
    """403 as `permit`, or 401, after a request has waited: what changed meanwhile counts."""
    action = request.app[AUTHORITY].get(request.match_info.handler)
    if action is not None:
        await authenticate_again(request)
        _check(request, action)


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

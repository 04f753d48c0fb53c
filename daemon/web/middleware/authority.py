"""Authority: whether who makes a request may do what it asks for."""

from __future__ import annotations

from aiohttp import web

from actors.core.authority import Action, Refusal, refusal
from daemon.web.middleware.auth import authenticate_again, principal_of
from daemon.web.problems import Problem

ACTION = web.RequestKey("action", Action)
MACHINE = "machine"


async def permit(request: web.Request) -> None:
    """403 for a role or kind of principal that may not do this; 401 where the right has ended.

    It is asked after a request has waited: what changed meanwhile counts.
    """
    action = request.get(ACTION)
    if action is None:
        return
    await authenticate_again(request)
    principal = principal_of(request)
    refused = refusal(principal.role, principal.kind, action)
    if refused is not None:
        raise forbidden(action, refused)


def forbidden(action: Action, refused: Refusal) -> Problem:
    more = {"required": refused.required, "reason": refused.reason}
    if refused.reason == MACHINE:
        return Problem("forbidden", "Only people may do this, not an API key.", more)
    return Problem("forbidden", f"This needs the role {refused.required}: {action.summary.lower()}.", more)

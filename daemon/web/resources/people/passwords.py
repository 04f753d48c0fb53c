"""Forgotten passwords, and what this service offers to those without a session."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.contract import accounts as contract
from daemon.identity.password_resets import PasswordResets
from daemon.web.bodies import read
from daemon.web.operations import PUBLIC, Operation
from daemon.web.problems import not_found
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.accounts import check_strength
from daemon.web.responses import json_response
from daemon.web.services import SERVICES


@Operation("Get the ways to sign in", PUBLIC, contract.AuthOptions)
async def get_auth_options(request: web.Request) -> web.Response:
    """Who may register, whether links are mailed, and whether there is single sign-on."""
    services = request.app[SERVICES]
    options: dict[str, Any] = {
        "registration": services.settings.registration,
        "password_reset": services.password_resets is not None,
        "sso": services.sso is not None,
    }
    return json_response(options)


@Operation("Ask for a new password", PUBLIC, status=202, request=contract.ForgottenPassword, problems=(404, 429, 503))
async def forgot_password(request: web.Request) -> web.Response:
    """Mails a link for a new password to the account of this address, if there is one.

    The answer and its time are the same for every address. 404 where the service sends no mail.
    """
    resets = _resets(request)
    body = await read(request, contract.ForgottenPassword)
    await request.app[RATE_LIMITS].forgotten(request, body.email)
    resets.ask(body.email)
    return web.Response(status=202)


@Operation("Set a new password", PUBLIC, status=204, request=contract.PasswordReset, problems=(404, 410, 429, 503))
async def reset_password(request: web.Request) -> web.Response:
    """Sets the password of the account that the link was mailed to, and ends all its sessions.

    A link works once, for an hour, and until the password is changed.
    """
    resets = _resets(request)
    body = await read(request, contract.PasswordReset)
    async with request.app[RATE_LIMITS].mailed_token(request):
        account = await resets.account(body.token)
        check_strength("/new", body.new, account.user.email, account.company.name)
        await resets.reset(body.token, body.new)
    return web.Response(status=204)


def _resets(request: web.Request) -> PasswordResets:
    resets = request.app[SERVICES].password_resets
    if resets is None:
        raise not_found("This service sends no mail; an administrator of the service can help.")
    return resets

"""Passwords and second factors of accounts."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.contract import accounts as contract
from daemon.identity.password_resets import PasswordResets
from daemon.identity.people import NotPermitted, UnknownMember
from daemon.identity.second_factors import ChangeOrigin
from daemon.web.bodies import read
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import PUBLIC, Operation
from daemon.web.problems import HttpProblem, not_found
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.accounts import check_strength
from daemon.web.resources.changes import member_of
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


_WHY = {
    "role": "This member has a higher role.",
    "account": "This is for another person, who belongs to this company alone.",
}


@Operation(
    "Begin a second factor",
    "account",
    contract.SecondFactor,
    201,
    contract.SecondFactorRequest,
    problems=(401, 409, 429),
)
async def begin_second_factor(request: web.Request) -> web.Response:
    """Gives a secret for an app that makes time-based codes (TOTP, RFC 6238), shown this once.

    It counts once a code of it was confirmed. A secret that was not confirmed is replaced.
    """
    identity, principal = request.app[SERVICES].identity, principal_of(request)
    body = await read(request, contract.SecondFactorRequest)
    user = (await identity.account(principal)).user
    async with request.app[RATE_LIMITS].password(request, user.email):
        await identity.confirm(user.email, body.password)
    secret, uri = await identity.second_factors.begin(user, ChangeOrigin(principal.email, principal.via))
    return json_response({"secret": secret, "uri": uri}, 201)


@Operation(
    "Confirm a second factor",
    "account",
    contract.RecoveryCodes,
    request=contract.SecondFactorCode,
    problems=(401, 409, 429),
)
async def confirm_second_factor(request: web.Request) -> web.Response:
    """Proves that the app makes the codes: from now on log-ins need one.

    All other sessions of the caller end. The recovery codes are shown this once; each stands in for
    one code of the app.
    """
    identity, principal = request.app[SERVICES].identity, principal_of(request)
    body = await read(request, contract.SecondFactorCode)
    user = (await identity.account(principal)).user
    async with request.app[RATE_LIMITS].code(user.email):
        change = ChangeOrigin(principal.email, principal.via, principal.session_id)
        codes = await identity.second_factors.confirm(user, body.code, change)
    await identity.sessions.end_others(principal)
    return json_response({"recovery_codes": codes})


@Operation("Reset a member's second factor", "people", status=204, problems=(403, 404, 409))
async def reset_second_factor(request: web.Request) -> web.Response:
    """Removes the second factor of another member and ends that person's sessions.

    It has to be a person of this company alone, of no higher role than the caller's.
    """
    principal = member_of(request)
    try:
        await request.app[SERVICES].identity.reset_second_factor(principal, request.match_info["member_id"])
    except UnknownMember:
        raise not_found() from None
    except NotPermitted as refused:
        more = {"required": refused.required or None, "reason": refused.reason}
        raise HttpProblem("forbidden", _WHY[refused.reason], more) from None
    return web.Response(status=204)


@Operation("Remove the second factor", "account", status=204, request=contract.SecondFactorRemoval, problems=(401, 429))
async def remove_second_factor(request: web.Request) -> web.Response:
    """Removes the caller's own second factor, by the password and a code."""
    identity, principal, limits = request.app[SERVICES].identity, principal_of(request), request.app[RATE_LIMITS]
    body = await read(request, contract.SecondFactorRemoval)
    user = (await identity.account(principal)).user
    async with limits.password(request, user.email), limits.code(user.email):
        await identity.confirm(user.email, body.password)
        await identity.second_factors.remove(user, body.code, ChangeOrigin(principal.email, principal.via))
    return web.Response(status=204)

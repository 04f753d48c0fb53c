"""Single sign-on: to the OpenID provider and back, for the page and for commands."""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

from aiohttp import web
from yarl import URL

from daemon.contract import accounts as contract
from daemon.model import Account
from daemon.sso.service import Callback, CommandLine, PendingLogin, SingleSignOn
from daemon.web import cookies
from daemon.web.bodies import read
from daemon.web.middleware.request_id import request_id_of
from daemon.web.operations import PUBLIC, Operation
from daemon.web.problems import Problem, existing, invalid, of
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.accounts import client_of, grant_of, session_json
from daemon.web.responses import json_response, problem_response
from daemon.web.services import SERVICES

PARAMETER_CHARS_MAX = 4_000
PORT_MIN, PORT_MAX = 1_024, 65_535
PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_RETURN_TO = re.compile(r"(#/[A-Za-z0-9/_.~-]{0,200})?")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_PORT = re.compile(r"[1-9][0-9]{3,4}")
_FAILED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sign-in failed · Penstock</title>
<h1>Sign-in failed</h1><p>{detail}</p><p><a href="/">Back to the sign-in</a></p></html>
"""


class Begun(NamedTuple):
    """What the browser asks for at the start."""

    return_to: str
    command: CommandLine | None


async def start(request: web.Request) -> web.Response:
    """GET /auth/sso/start: sends the browser to the provider."""
    sso = existing(request.app[SERVICES].sso)
    try:
        begun = _begun(request)
        await request.app[RATE_LIMITS].sign_on(request)
        url, kept = await sso.start(*begun)
    except Exception as error:  # noqa: BLE001 - a refusal is shown as a page
        return _failed(request, error, None)
    response = _redirect(url)
    cookies.keep_sign_on(request, response, kept)
    return response


async def callback(request: web.Request) -> web.Response:
    """GET /auth/sso/callback: the provider sends the browser back to it."""
    sso, pending = existing(request.app[SERVICES].sso), None
    try:
        await request.app[RATE_LIMITS].sign_on(request)
        answer = Callback(*(_parameter(request, name) for name in ("code", "state", "error")))
        pending = sso.pending(cookies.sign_on_of(request), answer.state)
        response = await _entered(request, sso, pending, await sso.finish(pending, answer))
    except Exception as error:  # noqa: BLE001 - a refusal is shown as a page
        response = _failed(request, error, pending)
    cookies.forget_sign_on(request, response)
    return response


@Operation(
    "Log in with a code of single sign-on",
    PUBLIC,
    contract.Session,
    request=contract.SignOnCode,
    problems=(403, 404, 429),
)
async def swap_code(request: web.Request) -> web.Response:
    """Gives a command a token for the code that its browser brought, once and within a minute."""
    await request.app[RATE_LIMITS].sign_on(request)
    body = await read(request, contract.SignOnCode)
    sso = existing(request.app[SERVICES].sso)
    return json_response(session_json(await sso.swap(body.code, body.verifier, client_of(request))))


def _begun(request: web.Request) -> Begun:
    """422 for anything but a place on the page, or a port and a challenge."""
    return_to, port, challenge = (_parameter(request, name) for name in ("return_to", "cli", "challenge"))
    if not _RETURN_TO.fullmatch(return_to):
        raise invalid(("/return_to", "has to be a place on the page, such as #/runs"))
    if not port and not challenge:
        return Begun(return_to, None)
    if not _PORT.fullmatch(port) or not PORT_MIN <= int(port) <= PORT_MAX:
        raise invalid(("/cli", f"has to be a port from {PORT_MIN} to {PORT_MAX}"))
    if not _CHALLENGE.fullmatch(challenge):
        raise invalid(("/challenge", "has to be the S256 challenge of a verifier"))
    return Begun("", CommandLine(int(port), challenge))


async def _entered(request: web.Request, sso: SingleSignOn, pending: PendingLogin, account: Account) -> web.Response:
    """To the page with a session, or to the command with a code."""
    if pending.command is not None:
        return _redirect(_command_url(pending.command, code=sso.code_for(account, pending.command)))
    session = await sso.enter(account, client_of(request, "page"))
    response = _redirect(f"/{pending.return_to}")
    cookies.grant_to(request, response, grant_of(request, session))
    return response


def _failed(request: web.Request, error: Exception, pending: PendingLogin | None) -> web.Response:
    """The problem: for a command, as a page for a browser, or as JSON."""
    problem = of(error)
    if problem is None:
        raise error
    if pending is not None and pending.command is not None:
        return _redirect(_command_url(pending.command, error=str(problem.more.get("reason", problem.code))))
    if "text/html" not in request.headers.get("Accept", ""):
        return problem_response(problem, request_id_of(request)).response()
    headers = {**PAGE_HEADERS, **problem.headers}
    text = _FAILED.format(detail=escape(problem.detail))
    return web.Response(text=text, status=problem.status, content_type="text/html", headers=headers)


def _command_url(command: CommandLine, **query: str) -> str:
    return str(URL.build(scheme="http", host="127.0.0.1", port=command.port, path="/", query=query))


def _redirect(url: str) -> web.Response:
    return web.Response(status=302, headers={**PAGE_HEADERS, "Location": url})


def _parameter(request: web.Request, name: str) -> str:
    text: str = request.query.get(name, "")
    if len(text) > PARAMETER_CHARS_MAX:
        raise Problem("malformed_request", f"The parameter {name} is too long.")
    return text

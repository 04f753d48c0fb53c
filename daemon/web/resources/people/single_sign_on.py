"""Single sign-on: log-in at an OpenID provider, and what a browser shows of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import NamedTuple
from urllib.parse import parse_qsl

from aiohttp import web
from yarl import URL

from daemon.contract import accounts as contract
from daemon.contract.accounts import number_of
from daemon.sso.arrivals import LogInNeeded
from daemon.sso.service import Arrived, Callback, CommandLine, PendingLink, PendingLogin, SingleSignOn
from daemon.sso.verification import TokenRefused
from daemon.web import cookies
from daemon.web.bodies import read
from daemon.web.incoming import read_bytes
from daemon.web.middleware.request_id import request_id_of
from daemon.web.operations import PUBLIC, Operation
from daemon.web.problems import HttpProblem, existing, invalid, problem_of
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.accounts import client_of, grant_of, session_json
from daemon.web.responses import json_response, problem_response
from daemon.web.services import SERVICES

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
LINK, COMMAND = "/auth/sso/link", "/auth/sso/command"
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title} · Penstock</title>
<h1>{title}</h1>{body}</html>
"""
_FAILED = '<p>{detail}</p><p><a href="/">Back to the sign-in</a></p>'
_QUESTION = """<p>A command on this machine asks for a session as <b>{email}</b>. It shows this number:</p>
<p><b>{number}</b></p>
<p>Go on only if you have just called <code>penstock login --sso</code> yourself and it shows the same number.
Whoever sent you here otherwise would act in your name.</p>
<form method="post" action="{action}"><input type="hidden" name="asked" value="{asked}">
<button>Give it a session</button></form>
<p><a href="/">No, this is not mine</a></p>"""
_SIGN_IN = """<p>The account <b>{email}</b> has signed in without single sign-on up to now.
Sign in once more in that way, and single sign-on opens it from then on.</p>
<p>{said}</p>
<form method="post" action="{action}">
<p><label>Password <input type="password" name="password" autocomplete="current-password" required></label></p>
<p><label>Code of the second factor, if there is one <input name="code" autocomplete="one-time-code"></label></p>
<button>Sign in and connect</button></form>
<p>Without a password, or with one that is not yours: <a href="/">ask for a new one</a>, and come back.</p>"""


def failed(problem: HttpProblem) -> web.Response:
    """What went wrong."""
    body = _FAILED.format(detail=escape(problem.detail))
    return _page("Sign-in failed", body, problem.status, problem.headers)


def question(email: str, challenge: str, port: int, asked: str) -> web.Response:
    """Whether a command on this machine may have a session; the browser goes on to its port."""
    words = {"email": escape(email), "number": number_of(challenge), "action": COMMAND, "asked": escape(asked)}
    return _form("Give a command a session?", _QUESTION.format(**words), f" http://127.0.0.1:{port}")


def password(email: str, port: int | None, problem: HttpProblem | None = None) -> web.Response:
    """The password of an account to which a provider's subject is linked."""
    words = {"email": escape(email), "action": LINK, "said": "" if problem is None else escape(problem.detail)}
    to = "" if port is None else f" http://127.0.0.1:{port}"
    return _form("Sign in once", _SIGN_IN.format(**words), to, 403 if problem is None else problem.status)


def redirect(url: str) -> web.Response:
    return web.Response(status=303, headers={**HEADERS, "Location": url})


def _form(title: str, body: str, more: str, status: int = 200) -> web.Response:
    """A page with a form; browsers tell its origin only with such a policy of referrers."""
    policy = HEADERS["Content-Security-Policy"].replace("form-action 'none'", f"form-action 'self'{more}")
    return _page(title, body, status, {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin"})


def _page(title: str, body: str, status: int, more: Mapping[str, str]) -> web.Response:
    text = _PAGE.format(title=title, body=body)
    return web.Response(text=text, status=status, content_type="text/html", headers={**HEADERS, **more})


PARAMETER_CHARS_MAX = 4_000
PORT_MIN, PORT_MAX = 1_024, 65_535
_RETURN_TO = re.compile(r"(#/[A-Za-z0-9/_.~-]{0,200})?")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_PORT = re.compile(r"[1-9][0-9]{3,4}")
FORM = "application/x-www-form-urlencoded"
FIELDS_MAX = 5
LINKING = "link"


class SignInStart(NamedTuple):
    """What the browser asks for at the start."""

    return_to: str
    command: CommandLine | None


async def start(request: web.Request) -> web.Response:
    """GET /auth/sso/start: sends the browser to the provider."""
    sso = existing(request.app[SERVICES].sso)
    try:
        begun = _begun(request)
        await request.app[RATE_LIMITS].sign_on(request)
        started = await sso.start(*begun)
    except Exception as error:  # noqa: BLE001 - a refusal is shown as a page
        return _failed(request, error, None)
    response = _redirect(started.url)
    cookies.keep_sign_on(request, response, started.kept, started.state)
    return response


async def callback(request: web.Request) -> web.Response:
    """GET /auth/sso/callback: the provider sends the browser back to it."""
    sso, pending, link = existing(request.app[SERVICES].sso), None, ""
    try:
        await request.app[RATE_LIMITS].sign_on(request)
        answer = Callback(*(_parameter(request, name) for name in ("code", "state", "error")))
        pending = sso.pending(cookies.sign_on_of(request, answer.state), answer.state)
        response = await _entered(request, sso, pending, await sso.finish(pending, answer))
    except Exception as error:  # noqa: BLE001 - a refusal is shown as a page
        response = _failed(request, error, None if pending is None else pending.command)
        if isinstance(error, LogInNeeded) and pending is not None and _shows_pages(request):
            link = sso.link_for(error, pending)
            response = password(error.account.user.email, _port(pending.command))
    if pending is not None:
        cookies.forget_sign_on(request, response, pending.state)
    if link:
        cookies.keep_sign_on(request, response, link, LINKING)
    return response


async def link(request: web.Request) -> web.Response:
    """POST /auth/sso/link: the password that an account needs before a provider opens it."""
    sso, kept = existing(request.app[SERVICES].sso), None
    try:
        await request.app[RATE_LIMITS].sign_on(request)
        fields = await _fields(request)
        kept = sso.link(cookies.sign_on_of(request, LINKING))
        limits = request.app[RATE_LIMITS]
        async with limits.password(request, kept.email), limits.code(kept.email):
            arrived = await sso.linked(kept, fields.get("password", ""), fields.get("code", "").strip() or None)
        response = await _entered(request, sso, kept, arrived)
    except Exception as error:  # noqa: BLE001 - a refusal is shown as a page
        problem = problem_of(error)
        if kept is None or problem is None or problem.code != "invalid_credentials" or not _shows_pages(request):
            return _failed(request, error, None)
        return password(kept.email, _port(kept.command), problem)
    cookies.forget_sign_on(request, response, LINKING)
    return response


async def give_command(request: web.Request) -> web.Response:
    """POST /auth/sso/command: the person says that the command on this machine is theirs."""
    sso = existing(request.app[SERVICES].sso)
    try:
        await request.app[RATE_LIMITS].sign_on(request)
        command, code = sso.code_for((await _fields(request)).get("asked", ""))
    except Exception as error:  # noqa: BLE001 - a refusal is shown as a page
        return _failed(request, error, None)
    return redirect(_command_url(command, code=code))


async def back_channel_logout(request: web.Request) -> web.Response:
    """POST /auth/sso/backchannel-logout: the provider ends sessions."""
    sso = existing(request.app[SERVICES].sso)
    await request.app[RATE_LIMITS].sign_on(request)
    try:
        token = (await _fields(request, of_page=False)).get("logout_token", "")
        await sso.log_out(token)
    except TokenRefused as refused:
        raise HttpProblem("malformed_request", f"The logout token does not count: {refused}.") from None
    return web.Response(status=200, headers={"Cache-Control": "no-store"})


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


def _begun(request: web.Request) -> SignInStart:
    """422 for anything but a place on the page, or a port and a challenge."""
    return_to, port, challenge = (_parameter(request, name) for name in ("return_to", "cli", "challenge"))
    if not _RETURN_TO.fullmatch(return_to):
        raise invalid(("/return_to", "has to be a place on the page, such as #/runs"))
    if not port and not challenge:
        return SignInStart(return_to, None)
    if not _PORT.fullmatch(port) or not PORT_MIN <= int(port) <= PORT_MAX:
        raise invalid(("/cli", f"has to be a port from {PORT_MIN} to {PORT_MAX}"))
    if not _CHALLENGE.fullmatch(challenge):
        raise invalid(("/challenge", "has to be the S256 challenge of a verifier"))
    return SignInStart("", CommandLine(int(port), challenge))


async def _entered(
    request: web.Request, sso: SingleSignOn, pending: PendingLogin | PendingLink, arrived: Arrived
) -> web.Response:
    """To the page with a session, or to the question whether a command may have one."""
    if pending.command is not None:
        port, challenge = pending.command.port, pending.command.challenge
        email = arrived.account.user.email
        return question(email, challenge, port, sso.question_for(arrived, pending.command))
    session = await sso.begin_session(arrived, client_of(request, "page"))
    response = _redirect(f"/{pending.return_to}")
    cookies.grant_to(request, response, grant_of(request, session))
    return response


async def _fields(request: web.Request, *, of_page: bool = True) -> Mapping[str, str]:
    """The fields of a form; of a page only of one of ours."""
    if of_page and not cookies.same_origin(request):
        raise HttpProblem("forbidden", "Only a page of the service may ask for this.", {"required": "same-origin"})
    if request.headers.get("Content-Type", "").partition(";")[0].strip().lower() != FORM:
        raise HttpProblem("unsupported_media_type", f"The body has to be {FORM}.")
    try:
        return dict(parse_qsl((await read_bytes(request)).decode(), max_num_fields=FIELDS_MAX))
    except ValueError:
        raise HttpProblem("malformed_request", "The form cannot be read.") from None


def _failed(request: web.Request, error: Exception, command: CommandLine | None) -> web.Response:
    """The problem: for a command, as a page for a browser, or as JSON."""
    problem = problem_of(error)
    if problem is None:
        raise error
    if command is not None:
        return _redirect(_command_url(command, error=str(problem.more.get("reason", problem.code))))
    if not _shows_pages(request):
        return problem_response(problem, request_id_of(request)).response()
    return failed(problem)


def _shows_pages(request: web.Request) -> bool:
    return "text/html" in request.headers.get("Accept", "")


def _port(command: CommandLine | None) -> int | None:
    return None if command is None else command.port


def _command_url(command: CommandLine, **query: str) -> str:
    return str(URL.build(scheme="http", host="127.0.0.1", port=command.port, path="/", query=query))


def _redirect(url: str) -> web.Response:
    return web.Response(status=302, headers={**HEADERS, "Location": url})


def _parameter(request: web.Request, name: str) -> str:
    text: str = request.query.get(name, "")
    if len(text) > PARAMETER_CHARS_MAX:
        raise HttpProblem("malformed_request", f"The parameter {name} is too long.")
    return text

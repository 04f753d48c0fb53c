"""The pages of single sign-on that work without a script: a failure, a question, and a password."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from aiohttp import web

from daemon.contract.accounts import number_of
from daemon.web.problems import Problem

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


def failed(problem: Problem) -> web.Response:
    """What went wrong."""
    body = _FAILED.format(detail=escape(problem.detail))
    return _page("Sign-in failed", body, problem.status, problem.headers)


def question(email: str, challenge: str, port: int, asked: str) -> web.Response:
    """Whether a command on this machine may have a session; the browser goes on to its port."""
    words = {"email": escape(email), "number": number_of(challenge), "action": COMMAND, "asked": escape(asked)}
    return _form("Give a command a session?", _QUESTION.format(**words), f" http://127.0.0.1:{port}")


def password(email: str, port: int | None, problem: Problem | None = None) -> web.Response:
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

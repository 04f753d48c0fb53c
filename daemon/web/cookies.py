"""The page's session: its tokens in cookies that no script can read and only the page can use."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from aiohttp import web

from daemon.web.problems import HttpProblem
from daemon.web.responses import json_response
from daemon.web.services import SERVICES

COOKIE = "penstock_session"
"""The name of the token's cookie, or how it begins where the host is named with a port."""
REFRESH_COOKIE = "penstock_refresh"
REFRESH_PATH = "/auth/refresh"
SIGN_ON_COOKIE = "penstock_sso"
SIGN_ON_PATH = "/auth/sso"
SIGN_ON_S, SIGN_ONS_MAX = 600, 5
PAGE = "Penstock-Page"
"""The header without which the cookies do not count.

No form or image of another site sets it, and a script has to ask.
"""
SAFE = frozenset({"GET", "HEAD"})
# A browser takes a cookie with such a prefix over HTTPS alone; with the first from this host alone.
HOST, SECURE = "__Host-", "__Secure-"
_PORT = re.compile(r":([0-9]{1,5})")


class Grant(NamedTuple):
    """The tokens of a session of the page, and how long the browser keeps each."""

    token: str
    token_s: int
    refresh: str
    refresh_s: int


def cookie_at(host: str, name: str = COOKIE) -> str:
    """A cookie's name at a host and port: browsers send cookies of one port to all others."""
    port = _PORT.fullmatch(host, host.rfind(":"))
    return name if port is None else f"{name}_{port[1]}"


def of_page(request: web.Request) -> bool:
    """Whether the page makes this request; Problem when another site does it in the page's name."""
    if PAGE not in request.headers:
        return False
    if not same_origin(request):
        raise HttpProblem(
            "forbidden", "Only the page of the service may ask for its session.", {"required": "same-origin"}
        )
    return True


def token_of(request: web.Request) -> str:
    """The token in the page's cookie; empty without one, or when another site sends it."""
    if PAGE not in request.headers or not same_origin(request):
        return ""
    return _read(request, HOST, COOKIE)


def refresh_token_of(request: web.Request) -> str:
    """The refresh token in the page's cookie; empty without one."""
    return _read(request, SECURE, REFRESH_COOKIE)


def opened(request: web.Request, shown: Mapping[str, Any], status: int, grant: Grant) -> web.Response:
    """The session, its tokens in cookies."""
    response = json_response(shown, status)
    grant_to(request, response, grant)
    return response


def grant_to(request: web.Request, response: web.Response, grant: Grant) -> None:
    """Give the tokens in cookies: behind TLS in ones that plain HTTP can never set."""
    secure = _is_secure(request)
    options: Any = {"httponly": True, "samesite": "Strict", "secure": secure}
    name, refresh_name = cookie_at(request.host), cookie_at(request.host, REFRESH_COOKIE)
    if secure:
        if name in request.cookies:
            response.del_cookie(name, path="/", httponly=True, samesite="Strict")
        name, refresh_name = HOST + name, SECURE + refresh_name
    response.set_cookie(name, grant.token, max_age=grant.token_s, path="/", **options)
    response.set_cookie(refresh_name, grant.refresh, max_age=grant.refresh_s, path=REFRESH_PATH, **options)


def keep_sign_on(request: web.Request, response: web.Response, kept: str, state: str) -> None:
    """Give the browser a pending log-in, which comes back with it from the provider's site.

    Each has a cookie of its own, and the browser keeps few: those that it was given first go.
    """
    secure, name = _is_secure(request), _sign_on_cookie(request, state)
    options: Any = {"httponly": True, "samesite": "Lax", "secure": secure}
    before = [one for one in request.cookies if one.startswith(_sign_on_cookie(request, None))]
    for one in before[: max(0, len(before) - SIGN_ONS_MAX + 1)]:
        response.del_cookie(one, path=SIGN_ON_PATH, **options)
    response.set_cookie(name, kept, max_age=SIGN_ON_S, path=SIGN_ON_PATH, **options)


def sign_on_of(request: web.Request, state: str) -> str:
    """The pending log-in of this browser with that state; empty without one."""
    return request.cookies.get(_sign_on_cookie(request, state), "")


def forget_sign_on(request: web.Request, response: web.Response, state: str) -> None:
    options: Any = {"httponly": True, "samesite": "Lax", "secure": _is_secure(request)}
    response.del_cookie(_sign_on_cookie(request, state), path=SIGN_ON_PATH, **options)


def _sign_on_cookie(request: web.Request, state: str | None) -> str:
    """The name for a state, or how all those names begin."""
    name = (SECURE if _is_secure(request) else "") + cookie_at(request.host, SIGN_ON_COOKIE) + "."
    return name if state is None else name + hashlib.sha256(state.encode()).hexdigest()[:16]


def closed(request: web.Request, response: web.Response) -> web.Response:
    """The response, which deletes the cookies under each of their names."""
    for prefix, name, path in ((HOST, COOKIE, "/"), (SECURE, REFRESH_COOKIE, REFRESH_PATH)):
        plain = cookie_at(request.host, name)
        response.del_cookie(plain, path=path, httponly=True, samesite="Strict")
        if _is_secure(request):
            response.del_cookie(prefix + plain, path=path, httponly=True, samesite="Strict", secure=True)
    return response


def _read(request: web.Request, prefix: str, name: str) -> str:
    """The cookie behind TLS, otherwise the plain one, which earlier versions set there, too."""
    plain = cookie_at(request.host, name)
    return request.cookies.get(prefix + plain) or request.cookies.get(plain, "")


def _is_secure(request: web.Request) -> bool:
    """Whether the browser speaks TLS: to us, or to a proxy at the service's public address."""
    if request.secure or request.headers.get("Origin", "").startswith("https://"):
        return True
    public = urlsplit(request.app[SERVICES].settings.public_url)
    return public.scheme == "https" and public.netloc.lower() == request.host.lower()


def same_origin(request: web.Request) -> bool:
    """Whether the browser says that a page of ours asks.

    Browsers leave out Sec-Fetch-Site over plain HTTP, and Origin when they read from the same site.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("Origin")
    if origin is None:
        return request.method in SAFE
    return urlsplit(origin).netloc.lower() == request.host.lower()

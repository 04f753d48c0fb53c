"""The page's session: its token in a cookie that no script can read and only the page can use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from daemon.web.problems import Problem
from daemon.web.responses import json_response

COOKIE = "penstock_session"
"""The name of the cookie, or how it begins where the host is named with a port."""
PAGE = "Penstock-Page"
"""The header without which the cookie does not count.

No form or image of another site sets it, and a script has to ask.
"""
SAFE = frozenset({"GET", "HEAD"})
_PORT = re.compile(r":([0-9]{1,5})")


def cookie_at(host: str) -> str:
    """The cookie's name at a host and port: browsers send cookies of one port to all others."""
    port = _PORT.fullmatch(host, host.rfind(":"))
    return COOKIE if port is None else f"{COOKIE}_{port[1]}"


def of_page(request: web.Request) -> bool:
    """Whether the page makes this request; Problem when another site does it in the page's name."""
    if PAGE not in request.headers:
        return False
    if not _same_origin(request):
        raise Problem("forbidden", "Only the page of the service may ask for its session.", {"required": "same-origin"})
    return True


def token_of(request: web.Request) -> str:
    """The token in the page's cookie; empty without one, or when another site sends it."""
    if PAGE not in request.headers or not _same_origin(request):
        return ""
    return request.cookies.get(cookie_at(request.host), "")


def opened(request: web.Request, session: Mapping[str, Any], status: int, life_s: int) -> web.Response:
    """The session without its token, which goes into the cookie."""
    shown = {name: value for name, value in session.items() if name not in {"token", "token_type"}}
    response = json_response(shown, status)
    secure = request.secure or request.headers.get("Origin", "").startswith("https://")
    options: Any = {"path": "/", "httponly": True, "samesite": "Strict", "secure": secure}
    response.set_cookie(cookie_at(request.host), session["token"], max_age=life_s, **options)
    return response


def closed(request: web.Request, response: web.Response) -> web.Response:
    response.del_cookie(cookie_at(request.host), path="/", httponly=True, samesite="Strict")
    return response


def _same_origin(request: web.Request) -> bool:
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

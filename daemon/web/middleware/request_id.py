"""Request ids: the caller's own where it is well formed, else a new one."""

from __future__ import annotations

import re

from aiohttp import web
from aiohttp.typedefs import Handler

from actors.context import set_log_context
from daemon.runtime.clock import new_id
from daemon.web.parameters import ID
from daemon.web.problems import AAP, SERVER, HttpProblem
from daemon.web.responses import error_response

REQUEST_ID = web.RequestKey("request_id", str)
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


def request_id_of(request: web.Request) -> str:
    return request[REQUEST_ID]


def _form(request: web.Request) -> re.Pattern[str]:
    return ID if request.path.startswith(AAP) else _ID


@web.middleware
async def request_id(request: web.Request, handler: Handler) -> web.StreamResponse:
    given = request.headers.get("X-Request-ID", "")
    request[REQUEST_ID] = given if given and _form(request).fullmatch(given) else new_id()
    set_log_context(request_id=request[REQUEST_ID])
    return await handler(request)


async def name_response(request: web.Request, response: web.StreamResponse) -> None:
    """Name the request, and who answers it, in the headers of every response, streams included."""
    if REQUEST_ID not in request and isinstance(response, web.HTTPExpectationFailed):
        request[REQUEST_ID] = new_id()
        _become_problem(response, request.path, request_id_of(request))
    response.headers["X-Request-ID"] = request[REQUEST_ID]
    guard(response)


def _become_problem(response: web.Response, path: str, request_id: str) -> None:
    """Put what aiohttp refused at an unknown address, before any middleware, into problem form."""
    detail = "What the request expects cannot be met."
    problem = HttpProblem("malformed_request", detail, other_status=response.status)
    refusal = error_response(problem, path, request_id)
    response.body = refusal.body
    response.headers.update({**refusal.headers, "Content-Length": str(len(refusal.body))})


def guard(response: web.StreamResponse) -> None:
    """Add what every response says: who answers, and that it is not for others to guess or keep.

    What has an entity tag may be kept by its reader, and asked for again each time (304).
    """
    headers = response.headers
    headers["Server"] = SERVER
    headers["X-Content-Type-Options"] = "nosniff"
    if "Cache-Control" not in headers:
        headers["Cache-Control"] = "private, no-cache" if "ETag" in headers else "no-store"

"""Request ids: the caller's own where it is well formed, else a new one."""

from __future__ import annotations

import re

from aiohttp import web
from aiohttp.typedefs import Handler

from actors.context import set_log_context
from daemon.runtime.ids import new_id
from daemon.web.problems import SERVER

REQUEST_ID = web.RequestKey("request_id", str)
_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


def request_id_of(request: web.Request) -> str:
    return request[REQUEST_ID]


@web.middleware
async def request_id(request: web.Request, handler: Handler) -> web.StreamResponse:
    given = request.headers.get("X-Request-ID", "")
    request[REQUEST_ID] = given if _ID.fullmatch(given) else new_id()
    set_log_context(request_id=request[REQUEST_ID])
    return await handler(request)


async def name_response(request: web.Request, response: web.StreamResponse) -> None:
    """Name the request, and who answers it, in the headers of every response, streams included."""
    response.headers["X-Request-ID"] = request[REQUEST_ID]
    response.headers["Server"] = SERVER

"""Process templates: list, one, canvas."""

from __future__ import annotations

from aiohttp import web

from daemon.catalog import Entry
from daemon.web import render
from daemon.web.bodies import page_limit
from daemon.web.problems import not_found
from daemon.web.replies import from_cursor, json_reply, next_page, to_cursor
from daemon.web.services import SERVICES


async def index(request: web.Request) -> web.Response:
    """GET /process-templates/."""
    limit, after = page_limit(request), from_cursor(request, "templates") or ""
    entries = [entry for entry in request.app[SERVICES].catalog.entries if entry.template.vertical > after]
    page = entries[:limit]
    more = len(entries) > limit
    headers = next_page(request, to_cursor("templates", page[-1].template.vertical)) if more else None
    return json_reply([render.template(entry) for entry in page], headers=headers)


async def show(request: web.Request) -> web.Response:
    """GET /process-templates/{vertical}."""
    entry = _entry(request)
    return json_reply({**render.template(entry), "inputs_schema": entry.inputs_schema, "inputs": entry.example})


async def canvas(request: web.Request) -> web.Response:
    """GET /process-templates/{vertical}/canvas."""
    return json_reply(render.canvas(_entry(request).template))


def _entry(request: web.Request) -> Entry:
    entry = request.app[SERVICES].catalog.current(request.match_info["vertical"])
    if entry is None:
        raise not_found()
    return entry

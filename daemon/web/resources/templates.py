"""Process templates: list, one, canvas."""

from __future__ import annotations

import re

from aiohttp import web

from actors.core.template import Template
from daemon.templates.catalog import Entry
from daemon.web import render
from daemon.web.bodies import page_limit
from daemon.web.parameters import DIGEST
from daemon.web.problems import invalid, not_found
from daemon.web.responses import from_cursor, json_response, page_response
from daemon.web.services import SERVICES

_DIGEST = re.compile(DIGEST)


async def index(request: web.Request) -> web.Response:
    """GET /process-templates/."""
    limit, after = page_limit(request), from_cursor(request, "templates") or ""
    found = [entry for entry in request.app[SERVICES].catalog.entries if entry.template.vertical > after]
    return page_response(
        request, found, limit, "templates", name=lambda last: last.template.vertical, show=render.template
    )


async def show(request: web.Request) -> web.Response:
    """GET /process-templates/{vertical}."""
    entry = _entry(request)
    return json_response({**render.template(entry), "inputs_schema": entry.inputs_schema, "inputs": entry.example})


async def canvas(request: web.Request) -> web.Response:
    """GET /process-templates/{vertical}/canvas; with a digest, of the version that a run is pinned to."""
    digest = request.query.get("digest")
    return json_response(render.canvas(_entry(request).template if digest is None else await _pinned(request, digest)))


async def _pinned(request: web.Request, digest: str) -> Template:
    if not _DIGEST.fullmatch(digest):
        raise invalid(("/digest", "is the digest of a template, as a run names it"))
    try:
        found = await request.app[SERVICES].catalog.pinned(digest)
    except KeyError:
        raise not_found() from None
    if found.vertical != request.match_info["vertical"]:
        raise not_found()
    return found


def _entry(request: web.Request) -> Entry:
    entry = request.app[SERVICES].catalog.current(request.match_info["vertical"])
    if entry is None:
        raise not_found()
    return entry

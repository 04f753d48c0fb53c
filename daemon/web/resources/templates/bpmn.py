"""Templates as BPMN 2.0."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from actors.actor import Overloaded
from actors.core.template import ConditionFailed
from daemon.bpmn.export import exported
from daemon.bpmn.reading import graph_of
from daemon.contract import templates as contract
from daemon.runtime.json_codec import dumps, loads
from daemon.templates.answers import answered
from daemon.templates.loading import CatalogEntry
from daemon.templates.publishing import Checked, NotATemplate
from daemon.web.bodies import parse, read_object
from daemon.web.incoming import beside_loop, evaluated
from daemon.web.operations import Operation
from daemon.web.problems import Problem, invalid
from daemon.web.resources.templates.catalog import canvas_json, entry_of
from daemon.web.resources.templates.drafts import malformed, template_of, violation_json
from daemon.web.responses import json_response

XML = "application/xml"
DRAWN_WEIGHT_MAX = 64 * 1024
"""A canvas of so much is drawn in some 10 ms."""


@Operation("Get a template as BPMN", "read", str, media=XML)
async def get_bpmn(request: web.Request) -> web.Response:
    """The template as BPMN 2.0 with the coordinates of its diagram, the same bytes each time."""
    try:
        xml = await evaluated(request, partial(written, await entry_of(request)))
    except ConditionFailed:
        raise Overloaded from None
    return web.Response(text=xml, content_type=XML, charset="utf-8")


def written(entry: CatalogEntry) -> str:
    """A template as BPMN, with all that its document has."""
    document = loads(entry.document.encode())
    document["inputs_schema"] = _as_ordered(document["inputs_schema"], entry.inputs_schema)
    canvas = loads(dumps(canvas_json(entry.template)))
    return answered("drawing", document, canvas, lambda: exported(canvas, document).decode(), DRAWN_WEIGHT_MAX)


def _as_ordered(value: Any, known: Any) -> Any:
    """A schema with its members in the order of the same schema, where that is known."""
    if not (isinstance(value, dict) and isinstance(known, dict)):
        return value
    names = [*(name for name in known if name in value), *(name for name in value if name not in known)]
    return {name: _as_ordered(value[name], known.get(name)) for name in names}


@Operation("Read BPMN", "read", contract.ImportedGraph, request=contract.ImportBpmn)
async def import_bpmn(request: web.Request) -> web.Response:
    """The graph of a BPMN 2.0 document; what does not map is named. Nothing is stored.

    Each attribute and part is taken over, known to say nothing of way, rights and time, or a
    violation. A service task that says nothing of its effect is irreversible.
    """
    body = await parse(request, contract.ImportBpmn, await read_object(request))
    try:
        found = await evaluated(request, partial(graph_of, body.xml))
    except NotATemplate as error:
        raise _no_graph(error) from None
    if found.document is None:
        raise invalid(("/xml", found.violations[-1].detail))
    canvas = await beside_loop(request, partial(canvas_json, await template_of(request, found)))
    return json_response(_graph_json(found, found.document, canvas))


def _no_graph(error: NotATemplate) -> Problem:
    _, kind, why = error.faults[0]
    match kind:
        case "malformed_xml":
            return Problem(kind, f"The document is no XML that can be read: {why}.")
        case "no_process":
            return Problem(kind, f"{why.capitalize()}.")
        case "too_large":
            return invalid(("/xml", why))
        case _:  # what this service wrote was changed since
            return malformed(error, {})


def _graph_json(found: Checked, document: str, canvas: dict[str, Any]) -> dict[str, Any]:
    """The graph of a BPMN document, its violations, and the same as a document."""
    about = {name: canvas[name] for name in ("title", "start", "nodes", "edges", "judges")}
    every = [violation_json(one) for one in found.violations]
    return {
        **about,
        "violations": every,
        "document": {**loads(document.encode()), "inputs_schema": found.inputs_schema},
    }

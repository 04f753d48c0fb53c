"""Templates as BPMN 2.0."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from daemon.bpmn.export import exported
from daemon.bpmn.reading import Imported, MalformedXml, NoProcess, TooManySteps, imported
from daemon.contract import templates as contract
from daemon.runtime.json_codec import dumps, loads
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import check
from daemon.web.bodies import parse, read_object
from daemon.web.incoming import beside_loop
from daemon.web.operations import Operation
from daemon.web.problems import Problem, invalid
from daemon.web.resources.templates.catalog import canvas_json, entry_of
from daemon.web.resources.templates.drafts import malformed, violation_json
from daemon.web.responses import json_response

XML = "application/xml"


@Operation("Get a template as BPMN", "read", str, media=XML)
async def get_bpmn(request: web.Request) -> web.Response:
    """The template as BPMN 2.0 with the coordinates of its diagram, the same bytes each time."""
    canvas = loads(dumps(canvas_json((await entry_of(request)).template)))
    return web.Response(body=exported(canvas), content_type=XML, charset="utf-8")


@Operation("Read BPMN", "read", contract.ImportedGraph, request=contract.ImportBpmn)
async def import_bpmn(request: web.Request) -> web.Response:
    """The graph of a BPMN 2.0 document; what does not map is named. Nothing is stored.

    A service task that says nothing of its effect is irreversible.
    """
    body = await parse(request, contract.ImportBpmn, await read_object(request))
    try:
        return json_response(await beside_loop(request, partial(_graph_json, body.xml)))
    except MalformedXml as error:
        raise Problem("malformed_xml", f"The document is no XML that can be read: {error}.") from None
    except NoProcess as error:
        raise Problem("no_process", f"{str(error).capitalize()}.") from None
    except TooManySteps as error:
        raise invalid(("/xml", str(error))) from None


def _graph_json(xml: str) -> dict[str, Any]:
    found = imported(xml)
    violations = [*found.violations]
    document, astray, _ = document_of(_graph(found))
    entry, wrong = check(document)
    canvas = canvas_json(entry.template)
    about = {name: canvas[name] for name in ("title", "start", "nodes", "edges")}
    every = [violation_json(one) for one in (*violations, *astray, *wrong)]
    return {**about, "violations": every, "document": loads(entry.document.encode())}


def _graph(found: Imported) -> Graph:
    value = {"title": found.title, "start": found.start, "nodes": found.nodes, "edges": found.edges}
    try:
        return Graph.model_validate(value)
    except ValidationError as error:  # what this service wrote was changed since
        raise malformed(error, value) from None

"""Templates as BPMN 2.0."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from actors.core.rules import Violation
from daemon.bpmn.export import exported
from daemon.bpmn.reading import Imported, MalformedXml, NoProcess, TooManySteps, imported
from daemon.contract import templates as contract
from daemon.runtime.json_codec import dumps, loads
from daemon.templates.cost.documents import costly
from daemon.templates.documents import Document
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import CatalogEntry, check
from daemon.web.bodies import parse, read_object
from daemon.web.incoming import evaluated
from daemon.web.operations import Operation
from daemon.web.problems import Problem, invalid
from daemon.web.resources.templates.catalog import canvas_json, entry_of
from daemon.web.resources.templates.drafts import malformed, violation_json
from daemon.web.responses import json_response

XML = "application/xml"


@Operation("Get a template as BPMN", "read", str, media=XML)
async def get_bpmn(request: web.Request) -> web.Response:
    """The template as BPMN 2.0 with the coordinates of its diagram, the same bytes each time."""
    return web.Response(body=written(await entry_of(request)), content_type=XML, charset="utf-8")


def written(entry: CatalogEntry) -> bytes:
    """A template as BPMN, with all that its document has."""
    document = loads(entry.document.encode())
    document["inputs_schema"] = _as_ordered(document["inputs_schema"], entry.inputs_schema)
    return exported(loads(dumps(canvas_json(entry.template))), document)


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
        return json_response(await evaluated(request, partial(read_graph, body.xml)))
    except MalformedXml as error:
        raise Problem("malformed_xml", f"The document is no XML that can be read: {error}.") from None
    except NoProcess as error:
        raise Problem("no_process", f"{str(error).capitalize()}.") from None
    except TooManySteps as error:
        raise invalid(("/xml", str(error))) from None


def read_graph(xml: str) -> dict[str, Any]:
    """The graph of a BPMN document, its violations, and the same as a document."""
    found = imported(xml)
    document, astray = _document(found)
    if too_much := costly(document):
        raise TooManySteps(too_much[0].detail)
    entry, wrong = check(document)
    canvas = canvas_json(entry.template)
    about = {name: canvas[name] for name in ("title", "start", "nodes", "edges", "judges")}
    every = [violation_json(one) for one in (*found.violations, *astray, *wrong)]
    whole = {**loads(entry.document.encode()), "inputs_schema": entry.inputs_schema}
    return {**about, "violations": every, "document": whole}


def _document(found: Imported) -> tuple[Document, list[Violation]]:
    value = {"title": found.title, "start": found.start, "nodes": found.nodes, "edges": found.edges}
    try:
        document, astray, _ = document_of(Graph.model_validate(value), **found.more)
    except ValidationError as error:  # what this service wrote was changed since
        raise malformed(error, {**value, **found.more}) from None
    return document, astray

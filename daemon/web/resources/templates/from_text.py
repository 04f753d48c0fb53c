"""A first draft of a process from words."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from actors.core.people.authority import ACTIONS, refusal
from actors.ports import Asker
from daemon.contract import templates as contract
from daemon.drafting import CLOSE, DraftModel, Match, closest, generated
from daemon.runtime.json_codec import loads
from daemon.templates.loading import CatalogEntry
from daemon.templates.publishing import checked
from daemon.web.bodies import parse, read_object
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of
from daemon.web.middleware.authority import forbidden
from daemon.web.operations import Operation
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.templates.catalog import canvas_json
from daemon.web.responses import json_response
from daemon.web.services import SERVICES


@Operation(
    "Draft a process from text", "read", contract.DraftedGraph, request=contract.DraftFromText, problems=(403, 429)
)
async def draft_from_text(request: web.Request) -> web.Response:
    """The graph of the closest template, or a new one where none is close or `generate` is asked.

    Where the service has a language model, that makes it for a member and those above, and rules
    where its answer breaks any; `generate` is then 403 for a viewer.
    Nothing is stored. `score` says how much of the text the closest template has.
    """
    body = await parse(request, contract.DraftFromText, await read_object(request))
    services, company_id = request.app[SERVICES], principal_of(request).company_id
    entries = await services.catalog.entries(company_id)
    match = await services.offload.run(company_id, partial(closest, body.text, entries))
    if match is not None and match.score >= CLOSE and not body.generate:
        return json_response(_json(match.entry, match, match.entry.template.vertical))
    drafted = await _by_model(request, services.draft_model, body)
    if drafted is None:
        document = await services.evaluator.beside(Asker(company_id), partial(made, body.text))
        drafted = await services.catalog.made(company_id, document)
    return json_response(_json(drafted, match, None))


async def _by_model(
    request: web.Request, model: DraftModel | None, body: contract.DraftFromText
) -> CatalogEntry | None:
    """What the model makes of a text; it costs, so a viewer has rules alone."""
    principal = principal_of(request)
    if model is None:
        return None
    if (refused := refusal(principal.role, principal.kind, ACTIONS["draft"])) is not None:
        if body.generate:
            raise forbidden(ACTIONS["draft"], refused)
        return None
    await request.app[RATE_LIMITS].draft(principal.company_id)
    with slot_released():
        return await model.drafted(principal.company_id, body.text)


def made(text: str) -> str:
    """The document of a new process of a text, which keeps all rules."""
    found = checked(generated(text))
    if found.violations or found.document is None:  # a fault of ours: whoever drafts begins with what is safe
        raise AssertionError("; ".join(map(str, found.violations)))
    return found.document


def _json(entry: CatalogEntry, match: Match | None, matched: str | None) -> dict[str, Any]:
    canvas = canvas_json(entry.template)
    about = {name: canvas[name] for name in ("title", "start", "nodes", "edges", "gates")}
    found = {"matched": matched, "score": 0.0 if match is None else match.score}
    return {**found, **about, "document": loads(entry.document.encode())}

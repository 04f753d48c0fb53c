"""Templates that are being written: checked, kept, tried, drafted from words, read from BPMN."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import web

from actors.actor import Overloaded
from actors.core.people import ACTIONS, ROLES, refusal
from actors.core.preview import RIGHTS, Act, Lapse, RehearsedDelivery, RehearsedVerdict, rehearse
from actors.core.rules import RULES, Violation
from actors.core.schedule import is_duration
from actors.core.template import ConditionFailed, Template
from actors.ports import Asker
from daemon.bpmn.export import export_bpmn
from daemon.bpmn.reading import graph_of
from daemon.contract import runs
from daemon.contract import templates as contract
from daemon.drafting import CLOSE, DraftModel, Match, find_closest, generate_graph
from daemon.model.budgets import BudgetExceeded
from daemon.model.own_templates import NO_DRAFT, Draft, DraftChanged
from daemon.runtime.json_codec import dumps, loads
from daemon.templates.answers import answered
from daemon.templates.documents import NEXT
from daemon.templates.loading import CatalogEntry
from daemon.templates.publishing import Author, Checked, NotATemplate, TooLarge, TooManyTemplates, checked
from daemon.web.bodies import has_already, if_match, page_limit, parse, read_object, sentence
from daemon.web.incoming import beside_loop, evaluated, is_large
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import forbidden, principal_of
from daemon.web.operations import PAGED, Operation
from daemon.web.problems import HttpProblem, etag, existing, invalid, pointer
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.resources.pages import page_response
from daemon.web.resources.run_json import run_json
from daemon.web.resources.templates.catalog import canvas_json, entry_of
from daemon.web.responses import from_cursor, json_response
from daemon.web.services import SERVICES

PREFIX = "sha256:"
YEARS = range(1_900, 2_100)
"""A run is tried in one of them, so that the centuries that its acts let lapse are years, too."""


@Operation("Check a template", "read", contract.TemplateCheck, request=contract.CheckTemplate)
async def validate_template(request: web.Request) -> web.Response:
    """Names all rules that a template or a graph breaks, each with its node or edge.

    Nothing is stored. Who makes a gate laxer by a version does not decide there: `loosened` tells
    the caller before.
    """
    raw = await read_object(request)
    await parse(request, contract.CheckTemplate, raw)
    found = await check(request, raw)
    template = (await template_of(request, found)) if found.drawn else None
    told = await beside_loop(request, partial(check_json, found, template))
    if template is not None and not found.violations and raw.get("vertical") is not None:
        told |= await _loosened_json(request, template)
    return json_response(told)


async def _loosened_json(request: web.Request, template: Template) -> dict[str, Any]:
    """What is laxer at a template that the caller may be about to publish."""
    services, author = request.app[SERVICES], author_of(request)
    with slot_released():
        found, laxer = await services.publishing.loosened(author, template)
    waits = laxer and await services.identity.changes.gated(author.company_id, "publish_laxer")
    return {"loosened": [contract.Loosened.view(one) for one in found], "awaits_approval": waits}


@Operation("Get a draft", "read", contract.DraftDocument, headers=("If-None-Match",))
async def get_draft(request: web.Request) -> web.Response:
    """The draft of a template, as it was stored, with its entity tag."""
    draft = existing(await _draft(request))
    if has_already(request, tag_of(draft)):
        return web.Response(status=304, headers={"ETag": tag_of(draft)})
    return _draft_response(draft)


@Operation(
    "Store a draft",
    "draft",
    contract.DraftDocument,
    request=contract.TemplateDocument,
    headers=("If-Match", "If-None-Match"),
    problems=(412, 507),
)
async def put_draft(request: web.Request) -> web.Response:
    """Keeps a draft, which may break rules.

    With `If-Match` it is kept only in place of the one that was seen, with `If-None-Match: *` only
    where there is none.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    raw = await read_object(request)
    body = await parse(request, contract.TemplateDocument, raw)
    if body.vertical != request.match_info["vertical"]:
        raise invalid(("/vertical", "has to be that of the path"))
    await services.stored.store_more(principal.company_id)
    author, seen = author_of(request), seen_drafts(request)
    try:
        draft = await services.publishing.put_draft(author, raw, seen)
    except NotATemplate as error:
        raise malformed(error, raw) from None
    except DraftChanged:
        raise await stale(request) from None
    except TooManyTemplates as error:
        raise BudgetExceeded("company_templates", services.settings.company_templates_max, str(error)) from None
    except TooLarge as error:
        raise too_large(request, error) from None
    return _draft_response(draft)


@Operation("Delete a draft", "draft", status=204, headers=("If-Match",), problems=(412,))
async def delete_draft(request: web.Request) -> web.Response:
    """Deletes a draft; what was published stays."""
    company_id, vertical = principal_of(request).company_id, request.match_info["vertical"]
    try:
        deleted = await request.app[SERVICES].store.delete_draft(company_id, vertical, seen_drafts(request))
    except DraftChanged:
        raise await stale(request) from None
    existing(deleted or None)
    return web.Response(status=204)


@Operation("List the drafts", "read", list[contract.DraftEntry], query=PAGED)
async def list_drafts(request: web.Request) -> web.Response:
    """All drafts of the company, by vertical."""
    limit, after = page_limit(request), from_cursor(request, "drafts") or ""
    every = await request.app[SERVICES].store.drafts(principal_of(request).company_id)
    found = [one for one in every if one.vertical > after]
    return await page_response(request, found, limit, "drafts", name=lambda last: last.vertical, show=_entry_json)


async def check(request: web.Request, raw: Mapping[str, Any]) -> Checked:
    """Check a template by all rules; 422 for what has not the form of one."""
    given = {name: value for name, value in raw.items() if value is not None}
    if "steps" not in given and "nodes" not in given:
        raise invalid(("/nodes", "is required, or steps"))
    known = {"vertical": "process", "title": "Process", **given} if "steps" in given else given
    try:
        return await evaluated(request, partial(checked, known, large=is_large(request)))
    except NotATemplate as error:
        raise malformed(error, raw) from None


async def template_of(request: web.Request, found: Checked) -> Template:
    """The template of what was checked, which may break rules."""
    assert found.document is not None  # noqa: S101 - it was looked at
    return (
        await request.app[SERVICES].catalog.load_document(principal_of(request).company_id, found.document)
    ).template


def check_json(found: Checked, template: Template | None) -> dict[str, Any]:
    """What a check found."""
    return {
        "valid": not found.violations,
        "violations": [violation_json(one) for one in found.violations],
        "warnings": [violation_json(one) for one in found.warnings],
        "steps": found.steps,
        "gates": found.gates,
        "guards": [{"step_id": step, "gates": gates} for step, gates in found.guards],
        "canvas": None if template is None else canvas_json(template),
        "clocks": [contract.SlowestPath.view(one) for one in found.clocks],
        "loosened": (),
        "awaits_approval": False,
    }


def violation_json(one: Violation) -> dict[str, Any]:
    """A violation with what to do about it; one that is shown by a path has that, too."""
    edge = None if one.edge is None else contract.EdgeName.view(one.edge)
    detail = f"{one.detail[:1].upper()}{one.detail[1:].rstrip('.')}. {RULES[one.rule]}"
    proof = {"clock": one.clock, "path": one.path, "takes": one.takes, "within": one.within} if one.path else {}
    return {"rule": one.rule, "node": one.node, "edge": edge, "detail": detail, **proof}


def malformed(error: NotATemplate, value: Any) -> HttpProblem:
    """What has not the form of a template, by the pointers of the body."""
    places: dict[str, str] = {}
    for loc, kind, message in error.faults:  # of what may have several forms the first is named
        places.setdefault(pointer(*_place(loc, kind, value)), sentence(message))
    return invalid(*places.items())


def _place(loc: tuple[int | str, ...], kind: str, value: Any) -> list[int | str]:
    """The part of a place that is in the body: pydantic names the members of unions as well."""
    found: list[int | str] = []
    for name in loc:
        members = dict(enumerate(value)) if isinstance(value, list) else value
        if not isinstance(members, dict) or name not in members:
            return [*found, name] if kind == "missing" and isinstance(value, dict) else found
        value = members[name]
        found.append(name)
    return found


def author_of(request: web.Request) -> Author:
    """Who changes a template."""
    principal = principal_of(request)
    return Author(
        principal.company_id, principal.email, principal.kind, principal.via, principal.made_by, principal.caller
    )


def too_large(request: web.Request, error: TooLarge) -> BudgetExceeded:
    """The templates of the company take as much as they may."""
    most = request.app[SERVICES].settings.company_template_bytes_max
    return BudgetExceeded("company_template_bytes", most, str(error))


def seen_drafts(request: web.Request) -> frozenset[str] | None:
    """The digests of the drafts that If-Match names; None without a condition."""
    if request.method == "PUT" and "*" in request.headers.getall("If-None-Match", ()):
        return frozenset({NO_DRAFT})
    tags = if_match(request)
    return None if tags is None else frozenset(PREFIX + tag for tag in tags)


async def stale(request: web.Request) -> HttpProblem:
    """Why a draft was not changed: it is not the one that was seen."""
    draft = await _draft(request)
    now = None if draft is None else tag_of(draft)
    return HttpProblem("stale", "The draft has changed since it was seen; read it again.", {"etag": now})


def tag_of(draft: Draft) -> str:
    """The entity tag of a draft."""
    return etag(draft.digest.removeprefix(PREFIX))


async def _draft(request: web.Request) -> Draft | None:
    return await request.app[SERVICES].store.draft(principal_of(request).company_id, request.match_info["vertical"])


def _draft_response(draft: Draft) -> web.Response:
    return json_response(json.loads(draft.document), headers={"ETag": tag_of(draft)})


def _entry_json(draft: Draft) -> dict[str, Any]:
    return contract.DraftEntry.view(draft, etag=tag_of(draft))


@Operation("Try a template", "read", runs.TriedTemplate, request=runs.TryTemplate)
async def try_template(request: web.Request) -> web.Response:
    """Lets a run of a template happen that nobody started, in shadow: nothing is called or kept.

    It goes by the acts, one after the other, as far as they are taken. Whoever decides has every
    right that a gate asks for, unless an act says which.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    body = await parse(request, runs.TryTemplate, await read_object(request))
    company = await services.identity.companies.load(principal.company_id)
    acts = tuple(_act(number, act, principal.email) for number, act in enumerate(body.acts))
    checked = await check(request, body.document)
    if checked.violations:
        found = [violation_json(one) for one in checked.violations]
        raise HttpProblem("invalid", "The template breaks rules; none of its runs can be tried.", {"violations": found})
    by, at = body.by or principal.email, body.at or services.now()
    if at.year not in YEARS:
        raise invalid(("/at", f"is of none of the years {YEARS.start} to {YEARS.stop - 1}"))
    about: dict[str, Any] = {"by": by, "at": at, "calendar": company.calendar}
    template, auto = await template_of(request, checked), body.auto_resolve
    acting = partial(rehearse, template, body.inputs, acts, auto_resolve=auto, **about)
    tried = await evaluated(request, partial(acting, most=0))
    while tried.rejected is None and tried.taken < len(acts):  # others take their turn between two acts
        tried = await evaluated(request, partial(acting, before=tried, most=tried.taken + 1))
    refused = None if tried.rejected is None else tried.rejected.detail
    return json_response({"run": run_json(tried.run), "at": tried.at, "taken": tried.taken, "refused": refused})


def _act(number: int, act: runs.Act, caller: str) -> Act:
    if act.gate is not None or act.decision is not None:
        if act.gate is None or act.decision is None:
            raise invalid((f"/acts/{number}", "names a gate and a decision, or neither"))
        said: dict[str, Any] = {name: getattr(act, name) for name in ("comment", "code", "form", "inputs")}
        rights: dict[str, Any] = {"role": act.role or ROLES[-1]}
        rights |= {name: None if (one := getattr(act, name)) is None else tuple(one) for name in RIGHTS}
        return RehearsedVerdict(gate=act.gate, decision=act.decision, by=act.by or caller, **said, **rights)
    if act.message is not None:
        return RehearsedDelivery(name=act.message, payload=act.payload)
    if act.lapse is None or act.lapse == NEXT:
        return Lapse()
    if not is_duration(act.lapse):
        raise invalid((f"/acts/{number}/lapse", f"is `{NEXT}` or a duration such as PT72H or P3BD"))
    return Lapse(act.lapse)


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
    match = await services.offload.run(company_id, partial(find_closest, body.text, entries))
    if match is not None and match.score >= CLOSE and not body.generate:
        return json_response(_json(match.entry, match, match.entry.template.vertical))
    drafted = await _by_model(request, services.draft_model, body)
    if drafted is None:
        document = await services.evaluator.beside(Asker(company_id), partial(document_from_text, body.text))
        drafted = await services.catalog.load_document(company_id, document)
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


def document_from_text(text: str) -> str:
    """The document of a new process of a text, which keeps all rules."""
    found = checked(generate_graph(text))
    if found.violations or found.document is None:  # a fault of ours: whoever drafts begins with what is safe
        raise AssertionError("; ".join(map(str, found.violations)))
    return found.document


def _json(entry: CatalogEntry, match: Match | None, matched: str | None) -> dict[str, Any]:
    canvas = canvas_json(entry.template)
    about = {name: canvas[name] for name in ("title", "start", "nodes", "edges", "gates")}
    found = {"matched": matched, "score": 0.0 if match is None else match.score}
    return {**found, **about, "document": loads(entry.document.encode())}


XML = "application/xml"
DRAWN_WEIGHT_MAX = 64 * 1024
"""A canvas of so much is drawn in some 10 ms."""
IMPORTED = ("title", "start", "nodes", "edges", "judges", "clocks", "functions", "readers", "subjects")
"""The members of a canvas that what is read of BPMN has."""


@Operation("Get a template as BPMN", "read", str, media=XML)
async def get_bpmn(request: web.Request) -> web.Response:
    """The template as BPMN 2.0 with the coordinates of its diagram, the same bytes each time."""
    try:
        xml = await evaluated(request, partial(serialize_bpmn, await entry_of(request)))
    except ConditionFailed:
        raise Overloaded from None
    return web.Response(text=xml, content_type=XML, charset="utf-8")


def serialize_bpmn(entry: CatalogEntry) -> str:
    """A template as BPMN, with all that its document has."""
    document = loads(entry.document.encode())
    document["inputs_schema"] = _as_ordered(document["inputs_schema"], entry.inputs_schema)
    canvas = loads(dumps(canvas_json(entry.template)))
    return answered("drawing", document, canvas, lambda: export_bpmn(canvas, document).decode(), DRAWN_WEIGHT_MAX)


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


def _no_graph(error: NotATemplate) -> HttpProblem:
    _, kind, why = error.faults[0]
    match kind:
        case "malformed_xml":
            return HttpProblem(kind, f"The document is no XML that can be read: {why}.")
        case "no_process":
            return HttpProblem(kind, f"{why[:1].upper()}{why[1:]}.")
        case "too_large":
            return invalid(("/xml", why))
        case _:  # what this service wrote was changed since
            return malformed(error, {})


def _graph_json(found: Checked, document: str, canvas: dict[str, Any]) -> dict[str, Any]:
    """The graph of a BPMN document, its violations, and the same as a document."""
    about = {name: canvas[name] for name in IMPORTED}
    every = [violation_json(one) for one in found.violations]
    return {
        **about,
        "violations": every,
        "document": {**loads(document.encode()), "inputs_schema": found.inputs_schema},
    }

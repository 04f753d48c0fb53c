"""Templates that are being written: checked, and kept as drafts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import web

from actors.core.rules import RULES, Violation
from actors.core.template import Template
from daemon.contract import templates as contract
from daemon.model.budgets import BudgetExceeded
from daemon.model.own_templates import NO_DRAFT, Draft, DraftChanged
from daemon.templates.publishing import Author, Checked, NotATemplate, TooLarge, TooManyTemplates, checked
from daemon.web.bodies import has_already, if_match, page_limit, parse, read_object, sentence
from daemon.web.incoming import beside_loop, evaluated, is_large
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import PAGED, Operation
from daemon.web.problems import Problem, etag, existing, invalid, pointer
from daemon.web.resources.pages import page_response
from daemon.web.resources.templates.catalog import canvas_json
from daemon.web.responses import from_cursor, json_response
from daemon.web.services import SERVICES

PREFIX = "sha256:"


@Operation("Check a template", "read", contract.TemplateCheck, request=contract.CheckTemplate)
async def validate_template(request: web.Request) -> web.Response:
    """Names all rules that a template or a graph breaks, each with its node or edge.

    Nothing is stored.
    """
    raw = await read_object(request)
    await parse(request, contract.CheckTemplate, raw)
    found = await check(request, raw)
    template = (await template_of(request, found)) if found.drawn else None
    return json_response(await beside_loop(request, partial(check_json, found, template)))


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
    return (await request.app[SERVICES].catalog.made(principal_of(request).company_id, found.document)).template


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
    }


def violation_json(one: Violation) -> dict[str, Any]:
    """A violation with what to do about it."""
    edge = None if one.edge is None else contract.EdgeName.view(one.edge)
    detail = f"{one.detail[:1].upper()}{one.detail[1:].rstrip('.')}. {RULES[one.rule]}"
    return {"rule": one.rule, "node": one.node, "edge": edge, "detail": detail}


def malformed(error: NotATemplate, value: Any) -> Problem:
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


async def stale(request: web.Request) -> Problem:
    """Why a draft was not changed: it is not the one that was seen."""
    draft = await _draft(request)
    now = None if draft is None else tag_of(draft)
    return Problem("stale", "The draft has changed since it was seen; read it again.", {"etag": now})


def tag_of(draft: Draft) -> str:
    """The entity tag of a draft."""
    return etag(draft.digest.removeprefix(PREFIX))


async def _draft(request: web.Request) -> Draft | None:
    return await request.app[SERVICES].store.draft(principal_of(request).company_id, request.match_info["vertical"])


def _draft_response(draft: Draft) -> web.Response:
    return json_response(json.loads(draft.document), headers={"ETag": tag_of(draft)})


def _entry_json(draft: Draft) -> dict[str, Any]:
    return contract.DraftEntry.view(draft, etag=tag_of(draft))

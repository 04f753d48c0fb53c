"""Versions of a company's own templates: published, read and retired."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from actors.core.preview import goes_otherwise
from actors.core.rules import guards
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import Receipt
from daemon.contract import templates as contract
from daemon.contract.base import Empty
from daemon.contract.company import GatedChange
from daemon.identity.company.changes import ChangeForm
from daemon.model import RunQuery
from daemon.model.own_templates import DraftChanged, OwnVersion
from daemon.model.people.changes import ChangeDecision, ChangeStale
from daemon.runtime.json_codec import dumps
from daemon.templates.catalog import Retired
from daemon.templates.loading import CatalogEntry, Header
from daemon.templates.publishing import Author, PublishGated, Refused, TooLarge
from daemon.web.bodies import page_limit, parse
from daemon.web.idempotency import IdempotencyKey, idempotent, receipt_maker
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, PAGED, Operation
from daemon.web.problems import HttpProblem, existing, invalid, not_found, pointer
from daemon.web.resources.changes import ask_for
from daemon.web.resources.pages import page_response
from daemon.web.resources.run_commands import sight_of
from daemon.web.resources.templates.drafts import author_of, seen_drafts, stale, too_large, violation_json
from daemon.web.responses import JSON, NUMBER, StoredResponse, from_number, json_response
from daemon.web.services import SERVICES

IN_FLIGHT = ("executing", "waiting", "parked", "compensating", "failed")
AFFECTED_MAX = 1_000
"""So many runs of each status are looked at, the newest first."""
PAGE = 100


@Operation(
    "Publish a draft",
    "publish",
    contract.PublishedVersion,
    201,
    Empty,
    headers=(*KEYED, "If-Match"),
    problems=(403, 404, 409, 412, 507),
    pending=GatedChange,
)
@idempotent(optional=True)
async def publish_template(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Makes the draft the next version, by which runs start from now on.

    Runs in flight go on by their own version. `runs_affected` names those that would go another way
    by the new one, of the newest thousand of each status. `guards_removed` names the irreversible
    steps that a path now reaches past a gate that was on all of them. Where the company has
    `change_gates`, a version that is laxer at a gate waits for another person: 202.
    """
    await parse(request, Empty, raw)
    services, vertical, author = request.app[SERVICES], request.match_info["vertical"], author_of(request)
    await services.stored.store_more(author.company_id)
    answers: list[StoredResponse] = []

    async def receipt(version: OwnVersion, entry: CatalogEntry) -> Receipt | None:
        answers.append(await _published(request, version, entry))
        return None if key is None else key.receipt(answers[-1])

    gated = await services.identity.changes.gated(author.company_id, "publish_laxer")
    try:
        done = await services.publishing.publish(author, vertical, seen_drafts(request), receipt, gated=gated)
    except PublishGated as waits:
        body = {"draft": waits.drafted, "version": waits.number}
        return await ask_for(request, ChangeForm("publish_laxer", vertical, body, waits.number), key)
    except DraftChanged:
        raise await stale(request) from None
    except TooLarge as error:
        raise too_large(request, error) from None
    except Refused as refused:
        raise _refused(refused) from None
    if done is None:
        raise not_found("There is no draft to publish.")
    return answers[-1]


async def approve_version(request: web.Request, decision: ChangeDecision, asked: Mapping[str, Any]) -> None:
    """Publish the very draft that was asked for, under the number that it was to have."""
    services, change = request.app[SERVICES], decision.change
    caller = await services.identity.changes.asker(change)
    author = Author(change.company_id, change.requested_by, change.by_kind, change.via, change.made_by, caller)

    async def receipt(_: OwnVersion, __: CatalogEntry) -> None:
        """The approval has one."""

    seen = frozenset({str(asked["draft"])})
    try:
        done = await services.publishing.publish(author, change.what, seen, receipt, approved=decision)
    except TooLarge as error:
        raise too_large(request, error) from None
    except Refused:
        raise ChangeStale from None
    if done is None:
        raise ChangeStale


@Operation("List the versions of a template", "read", list[contract.TemplateVersion], query=PAGED)
async def list_versions(request: web.Request) -> web.Response:
    """The company's own versions and the one that every company has, the newest first."""
    catalog, vertical = request.app[SERVICES].catalog, request.match_info["vertical"]
    limit, before = page_limit(request), from_number(request, "versions")
    found = [*await catalog.own_versions(principal_of(request).company_id, vertical)]
    shown = [contract.TemplateVersion.view(one) for one in found]
    if (common := catalog.common(vertical)) is not None:
        shown.append(_common(common))
    existing(shown or None)
    shown = [one for one in shown if before is None or one["version"] < before]
    return await page_response(
        request, shown, limit, "versions", name=lambda last: last["version"], show=lambda one: one
    )


@Operation("Get a version of a template", "read", contract.TemplateVersionDetail)
async def get_version(request: web.Request) -> web.Response:
    """A version with its document, retired or not."""
    catalog, company_id, vertical = request.app[SERVICES].catalog, principal_of(request).company_id, _vertical(request)
    number = _number(request)
    entry = existing(await catalog.version(company_id, vertical, number))
    own = _own(await catalog.own_versions(company_id, vertical), number)
    about = _common(entry.header) if own is None else contract.TemplateVersion.view(own)
    # With the order of its inputs, which canonical JSON has not and a draft made of it shall keep.
    document = {**json.loads(entry.document), "inputs_schema": entry.inputs_schema}
    return json_response({**about, "document": document})


@Operation(
    "Retire a version", "publish", contract.TemplateVersion, request=Empty, headers=KEYED, problems=(403, 404, 409)
)
@idempotent(optional=True)
async def retire_version(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Lets a version be started no more; runs of it go on, and the newest that is left counts.

    A version that every company has is not retired: 403.
    """
    await parse(request, Empty, raw)
    services, company_id, vertical, number = (
        request.app[SERVICES],
        principal_of(request).company_id,
        _vertical(request),
        _number(request),
    )
    own = _own(await services.catalog.own_versions(company_id, vertical), number)
    if own is None:
        existing(await services.catalog.version(company_id, vertical, number))
        raise HttpProblem("forbidden", "A shipped version is not retired.", {"required": None, "reason": "shipped"})
    return _retired(await services.publishing.retire(author_of(request), own, receipt_maker(key, _retired)))


def _retired(version: OwnVersion) -> StoredResponse:
    return _stored(200, contract.TemplateVersion.view(version))


def _refused(refused: Refused) -> HttpProblem:
    """All rules that a draft breaks, each with the step of the document."""
    violations = [violation_json(one) for one in refused.violations]
    places = {step: pointer("steps", number) for number, step in enumerate(refused.steps)}
    problem = invalid(*((places.get(one["node"], ""), one["detail"]) for one in violations))
    problem.more["violations"] = violations
    return problem


async def _published(request: web.Request, version: OwnVersion, entry: CatalogEntry) -> StoredResponse:
    template, before = entry.template, await _before(request)
    was, now = (guards(before), guards(template)) if before is not None else ({}, {})
    affected = [
        {"run_id": run.id, "parked_at": run.parked[0].step_id if run.parked else None}
        for run in await _affected(request, entry)
    ]
    computed: dict[str, Any] = {"gates": template.gates, "steps": len(template.nodes), "runs_affected": affected}
    computed["gates_removed"] = [gate for gate in (before.gates if before else ()) if gate not in template.gates]
    computed["guards_removed"] = [
        {"step_id": step, "gates": gone}
        for step, gates in was.items()
        if step in now and (gone := [gate for gate in gates if gate not in now[step]])
    ]
    return _stored(201, contract.PublishedVersion.view(version, **computed))


async def _before(request: web.Request) -> Template | None:
    """The version that counts until now."""
    try:
        current = await request.app[SERVICES].catalog.current(principal_of(request).company_id, _vertical(request))
    except Retired:
        return None
    return None if current is None else current.template


async def _affected(request: web.Request, entry: CatalogEntry) -> list[Run]:
    """The runs in flight that would go another way by a version."""
    services, company_id, vertical = request.app[SERVICES], principal_of(request).company_id, _vertical(request)
    found, known, sight = list[Run](), dict[tuple[str, ...], bool](), await sight_of(request)
    for status in IN_FLIGHT:
        before, looked = None, 0
        while looked < AFFECTED_MAX:
            query = RunQuery(limit=PAGE, before=before, status=status, vertical=vertical, sight=sight)
            page = await services.store.find(company_id, query)
            for run in page:
                at = (run.template_digest, *(visit.step_id for visit in run.open))
                if at not in known:  # runs that stand alike go on alike
                    pinned = await services.catalog.pinned(company_id, run.template_digest)
                    goes = partial(goes_otherwise, run, pinned, entry.template)
                    known[at] = await services.offload.run(company_id, goes, bounded=False)
                if known[at]:
                    found.append(run)
            if not page:
                break
            before, looked = page[-1].id, looked + len(page)
    return found


def _stored(status: int, value: Any) -> StoredResponse:
    return StoredResponse(status, dumps(value), {"Content-Type": JSON})


def _common(one: Header) -> dict[str, Any]:
    """A version that every company has."""
    nobody = dict.fromkeys(("published_at", "published_by", "retired_at", "retired_by"))
    return contract.TemplateVersion.view(one, **nobody)


def _own(versions: Sequence[OwnVersion], number: int) -> OwnVersion | None:
    return next((one for one in versions if one.version == number), None)


def _vertical(request: web.Request) -> str:
    return request.match_info["vertical"]


def _number(request: web.Request) -> int:
    text = request.match_info["version"]
    if not NUMBER.fullmatch(text):
        raise not_found()
    return int(text)

"""Runs: start, list, read, decide, cancel, retry, and answer their calls later."""

from __future__ import annotations

import dataclasses
import re
from contextlib import nullcontext
from functools import partial
from typing import Any

from aiohttp import web
from msgspec.structs import replace

from actors.core.approvals import as_it_stands, changed_gates, tag, unchanged
from actors.core.commands.promotions import recorded
from actors.core.eligibility import as_bound, named_functions
from actors.core.messages import (
    BreakGlass,
    Cancel,
    Deliver,
    Migrate,
    Promote,
    Rejected,
    Retry,
    Settle,
    Start,
    effect_key,
)
from actors.core.people import ACTIONS, NOBODY
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import Asker
from daemon.connectors.http import HttpResponse
from daemon.contract import runs as contract
from daemon.contract.base import Empty
from daemon.contract.connectors import LaterAnswer
from daemon.contract.lists import RunRow
from daemon.contract.runs import RetainedRun
from daemon.engine.upkeep import index_runs
from daemon.identity.tokens import Principal
from daemon.model import RunQuery
from daemon.runtime.clock import new_id
from daemon.runtime.json_codec import dumps
from daemon.templates.catalog import Retired
from daemon.templates.loading import CatalogEntry
from daemon.web.bodies import has_already, if_match, page_limit, parse, path_key, read_object, traceparent
from daemon.web.csv_lists import csv_list
from daemon.web.incoming import is_large
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import check_own, principal_of
from daemon.web.operations import KEYED, LISTED, PUBLIC, Operation
from daemon.web.parameters import ID
from daemon.web.problems import HttpProblem, archived, etag, existing, invalid, not_found, pointer, rejection_problem
from daemon.web.resources.pages import ROW, SUMMARY, in_turn, moment, one_of, page_response, words
from daemon.web.resources.run_commands import RunCommand, command, current, default_wait, readable, sight_of
from daemon.web.resources.run_json import (
    RESPONSE_CACHE,
    retained_body,
    retained_tag,
    run_body,
    run_json,
    run_row,
    summary_json,
)
from daemon.web.responses import JSON, StoredResponse, from_cursor, run_response
from daemon.web.services import SERVICES, Services


@Operation(
    "Start a run",
    "start",
    contract.Run,
    201,
    contract.StartRun,
    headers=(*KEYED, "Prefer", "traceparent"),
    problems=(404, 409, 507),
)
@command()
async def start_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Starts a run, which goes on by itself until a human is needed.

    202 says that it still executed when the wait ended.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    body = await parse(request, contract.StartRun, raw)
    if principal.terms.scopes is not None:
        principal.check_start(body.vertical)
    entry = await _template(services, principal.company_id, body)
    await _check_inputs(request, entry, body.inputs)
    giver = None if body.on_behalf_of is None else await _acted_for(services, principal, body.on_behalf_of)
    await services.catalog.keep(entry.template.digest)
    run_id = new_id()
    if body.unique and body.business_key is not None:
        await _reserve(request, entry.template, body.business_key, run_id)
    await services.stored.begin_run(principal.company_id, run_id)
    message = Start(
        run_id=run_id,
        company_id=principal.company_id,
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        inputs=body.inputs,
        auto_resolve=body.auto_resolve,
        business_key=body.business_key,
        traceparent=traceparent(request),
        made_by=principal.made_by,
        on_behalf_of=giver,
        at=services.now(),
    )
    return RunCommand((message.company_id, message.run_id), message, entry.template)


async def _acted_for(services: Services, principal: Principal, member_id: str) -> str:
    """The address of the member for whom a key starts a run; 403 for one that acts for nobody."""
    if not principal.acts_for:
        detail = "Only an API key that acts for others starts a run on behalf of a member."
        raise HttpProblem("forbidden", detail, {"required": "acts_for", "reason": "acts_for"})
    member = (await services.identity.companies.load(principal.company_id)).member(member_id)
    if member is None:
        raise invalid(("/on_behalf_of", "is no active member of the company"))
    return member.email


async def _template(services: Services, company_id: str, body: contract.StartRun) -> CatalogEntry:
    """The version that a run is to follow; 409 for one that is retired."""
    try:
        found = await services.catalog.startable(company_id, body.vertical, body.version)
    except Retired:
        raise HttpProblem("retired", "This template is retired: no run of it is started any more.") from None
    if found is None:
        raise not_found("There is no template with this vertical.")
    return found


async def _reserve(request: web.Request, template: Template, business_key: str, run_id: str) -> None:
    """409 where another run has the key, which is named to those alone who may read it."""
    name = (template.vertical, business_key)
    services, company_id = request.app[SERVICES], principal_of(request).company_id
    taken = await services.store.reserve_business_key(company_id, name, run_id, services.now())
    if taken is None:
        return
    other, sight = await current(services, (company_id, taken)), await sight_of(request)
    if other is not None:
        shown = await services.reading.may_read(sight, other)
    else:  # it is just being started
        shown = sight is None or (not template.guarded and sight.scope.lets_read_all(template.vertical))
    more = {"run_id": taken} if shown else {}
    raise HttpProblem("already_exists", "A run with this business key has not ended yet.", more=more)


async def _check_inputs(request: web.Request, entry: CatalogEntry, inputs: dict[str, Any]) -> None:
    company_id, large = principal_of(request).company_id, is_large(request)
    size = request.app[SERVICES].settings.body_bytes_max if large else 0
    with slot_released() if large or not entry.checks_quickly else nullcontext():
        check = partial(entry.input_errors, inputs)
        errors = await request.app[SERVICES].evaluator.evaluated(Asker(company_id), size, check)
    if errors:
        raise invalid(*errors)


@Operation(
    "Cancel a run",
    "cancel",
    contract.Run,
    request=contract.CancelRun,
    headers=(*KEYED, "If-Match"),
    problems=(409, 412),
)
@command(optional=True, wait=default_wait)  # a run that is cancelled rests at once
async def cancel_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Ends a run where it stands; with `compensate` what it did is undone first."""
    principal, run_key = principal_of(request), path_key(request, "run_id")
    body = await parse(request, contract.CancelRun, raw)
    at, tags = request.app[SERVICES].now(), if_match(request)
    message = Cancel(
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        reason=body.reason,
        compensate=body.compensate,
        tags=tags,
        at=at,
    )
    return RunCommand(run_key, message)


@Operation(
    "Retry a failed run",
    "retry",
    contract.Run,
    request=Empty,
    headers=(*KEYED, "If-Match", "Prefer"),
    problems=(409, 412),
)
@command(optional=True)
async def retry_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Goes on from the failed step."""
    principal, run_key = principal_of(request), path_key(request, "run_id")
    await parse(request, Empty, raw)
    at, tags = request.app[SERVICES].now(), if_match(request)
    message = Retry(by=principal.email, by_kind=principal.kind, via=principal.via, tags=tags, at=at)
    return RunCommand(run_key, message)


@Operation(
    "Let a run go on by another version",
    "migrate",
    contract.Run,
    request=contract.MigrateRun,
    headers=KEYED,
    problems=(403, 404, 409),
)
@command(wait=default_wait)
async def migrate_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Pins a run to another version of its template; its open gates ask what that one says."""
    principal, run_key, services = principal_of(request), path_key(request, "run_id"), request.app[SERVICES]
    body = await parse(request, contract.MigrateRun, raw)
    run = await readable(request, run_key)
    onto = await services.catalog.version(principal.company_id, run.vertical, body.version)
    if onto is None:
        raise not_found("There is no such version of the run's template.")
    await services.catalog.keep(onto.template.digest)
    who: Any = {"by": principal.email, "made_by": principal.made_by, "by_kind": principal.kind, "via": principal.via}
    message = Migrate(**who, at=services.now())
    return RunCommand(run_key, message, onto.template)


@Operation(
    "Promote a run that ended in shadow",
    "promote",
    contract.Run,
    201,
    Empty,
    headers=(*KEYED, "Prefer", "traceparent"),
    problems=(404, 409, 507),
)
@command(optional=True)
async def promote_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Makes the run again, live, by the same version and inputs; people decide anew.

    A call that is not the one that shadow recorded waits for a human, who sees the difference.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    await parse(request, Empty, raw)
    run = await find(request)
    principal.check_start(run.vertical)
    template = await _unretired(services, run)
    run_id = await _promoted(services, run, principal)
    message = Start(
        run_id=run_id,
        company_id=run.company_id,
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        inputs=run.inputs,
        auto_resolve=run.auto_resolve,
        business_key=run.business_key,
        traceparent=traceparent(request),
        promoted_from=run.id,
        recorded=recorded(run),
        made_by=principal.made_by,
        at=services.now(),
    )
    return RunCommand((message.company_id, message.run_id), message, template)


async def _unretired(services: Services, run: Run) -> Template:
    """The version that a run is pinned to; 409 where no run of it is started any more."""
    versions = await services.catalog.own_versions(run.company_id, run.vertical)
    if any(one.digest == run.template_digest and one.retired_at is not None for one in versions):
        raise HttpProblem("retired", "This template is retired: no run of it is started any more.")
    return await services.catalog.pinned(run.company_id, run.template_digest)


async def _promoted(services: Services, run: Run, principal: Principal) -> str:
    """The id of the run that makes this one again, which its history has before that one starts.

    Where the service died in between, the next request starts the run that is named there.
    """
    retained = await services.store.retained(run.company_id, run.id)
    if retained.archived is not None:
        raise HttpProblem("not_promotable", "The run is archived: the calls that it recorded are gone.")
    if retained.redactions:
        raise HttpProblem(
            "not_promotable", "The run is redacted: a live run would send what stands in its values' place."
        )
    named = run.promoted_to
    if named is not None and await current(services, (run.company_id, named)) is None:
        await services.stored.begin_run(run.company_id, named)
        return named
    run_id = new_id()
    await services.stored.begin_run(run.company_id, run_id)
    message = Promote(
        promoted_to=run_id, by=principal.email, by_kind=principal.kind, via=principal.via, at=services.now()
    )
    decided = await services.directory.ask((run.company_id, run.id), message)
    if isinstance(decided, Rejected):
        raise rejection_problem(decided)
    return run_id


@Operation(
    "Deliver a message",
    "deliver",
    contract.Run,
    202,
    contract.DeliverMessage,
    headers=KEYED,
    problems=(403, 404, 409, 429),
)
@command(wait=lambda _: None)
async def deliver_message(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Gives a message to the step that waits for it, or keeps it until one does.

    An agent's key sends messages to the runs that it started.
    """
    principal, run_key = principal_of(request), path_key(request, "run_id")
    action = ACTIONS["deliver"]
    if principal.kind in action.own:
        check_own(principal, action, await current(request.app[SERVICES], run_key))
    body = await parse(request, contract.DeliverMessage, raw)
    message = Deliver(
        name=body.name,
        payload=body.payload,
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        at=request.app[SERVICES].now(),
    )
    return RunCommand(run_key, message)


@Operation(
    "Break the glass of a run",
    "break_glass",
    contract.GlassBroken,
    201,
    contract.BreakGlass,
    headers=KEYED,
    problems=(403, 404, 410),
)
@command(wait=default_wait)
async def break_glass(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Lets an admin read a run that is closed to them, for an hour; every reader is told.

    Nobody reads a run that they are the subject of.
    """
    principal, run_key, services = principal_of(request), path_key(request, "run_id"), request.app[SERVICES]
    body = await parse(request, contract.BreakGlass, raw)
    kept = (await services.store.retained(*run_key)).archived
    if kept is not None and await services.reading.may_break(await sight_of(request), kept.run):
        raise archived(kept, "The run is archived: its history goes on no more.")
    message = BreakGlass(
        by=principal.email, by_kind=principal.kind, via=principal.via, reason=body.reason, at=services.now()
    )
    return RunCommand(run_key, message, result=partial(_broken, principal.email))


def _broken(by: str, run: Run) -> StoredResponse:
    until = next(one.until for one in run.glass if one.by == by)
    return StoredResponse(201, dumps({"until": until}), {"Content-Type": JSON})


@Operation("Get a run", "read", RetainedRun, headers=("If-None-Match",))
async def get_run(request: web.Request) -> web.Response:
    """A run with its open gates and everything that it did."""
    run, services = await find(request), request.app[SERVICES]
    retained = await services.store.retained(run.company_id, run.id)
    stands, tag = await as_read(services, run)
    tag = retained_tag(tag, stands, retained)
    # What is shown of a clock that stands still changes by the minute.
    if has_already(request, etag(tag)) and stands.clocks is run.clocks:
        return web.Response(status=304, headers={"ETag": etag(tag)})
    if retained.archived is not None:
        body = run_body(retained.archived.run)
    elif stands is run and not retained.redactions:  # another daemon may keep the one from before
        body = await request.app[RESPONSE_CACHE].body(run)
    else:
        body = await services.offload.run_by_size(run.company_id, run.size_bytes, partial(run_body, stands))
    return run_response(run, retained_body(body, retained), 200, tag=tag).response()


async def find(request: web.Request) -> Run:
    """The run that a path names, if it is the company's and not closed to the caller."""
    return await readable(request, path_key(request, "run_id"))


async def as_read(services: Services, run: Run) -> tuple[Run, str]:
    """The run with its open gates as connectors and functions are now, clocks too, and its tag."""
    if not run.open:
        return run, tag(run, ())
    if run.clocks:
        run = await _clocks_as_of_now(services, run)
    connectors = await services.connector_service.connectors(run.company_id) if run.parked else {}
    company = NOBODY if run.action is None else await services.identity.companies.load(run.company_id)
    if unchanged(run, connectors, company):
        return run, tag(run, ())
    if named_functions(run):
        run = as_bound(run, await services.identity.companies.load(run.company_id))
    template = await services.catalog.pinned(run.company_id, run.template_digest)
    look = partial(changed_gates, run, template, connectors, company)
    gates = await services.evaluator.evaluated(Asker(run.company_id), run.size_bytes, look)
    return as_it_stands(run, gates), tag(run, gates)


async def _clocks_as_of_now(services: Services, run: Run) -> Run:
    """The run with each clock that stands still as if it went on now; it is for readers alone."""
    paused = [one for one in run.clocks if one.state == "paused"]
    if not paused:
        return run
    counts_days = any(one.counts_business_days for one in paused)
    company = await services.identity.companies.load(run.company_id) if counts_days else NOBODY
    now = services.now()
    return replace(run, clocks=tuple([one.as_of(now, company.calendar) for one in run.clocks]))


_VIEWS = {None: run_json, SUMMARY: summary_json, ROW: run_row}
_CREATED = ("created_by", "created_after", "created_before")
_FILTERS = ("status", "vertical", "parked_at", "business_key", "id", *_CREATED, "clock_due_before")
_ID_BEGINS = re.compile(r"[0-9a-f-]{1,36}")


@Operation(
    "List runs",
    "read",
    list[contract.Run | contract.RunSummary | RunRow],
    query=(*_FILTERS, "q", "view", *LISTED),
)
@csv_list(contract.Run, "runs", summary=contract.RunSummary, row=RunRow)
async def list_runs(request: web.Request) -> web.Response:
    """All runs of the company, newest first.

    `q` looks for words of what runs started with: id, template, business key, person and input
    values. A run is found within seconds of its start. `clock_due_before` are those of which a
    clock is due by then, or was; one that stands still counts as it stood when it was paused.
    `view=summary` leaves `inputs`, `facts` and
    `trace` out; `view=row` has what a list shows.
    """
    services, principal, limit = request.app[SERVICES], principal_of(request), page_limit(request)
    view, query = one_of(request, "view", (SUMMARY, ROW)), _query(request, limit)
    async with in_turn(request):
        if query.words is not None or query.created_by is not None:
            await index_runs(services.store, principal.company_id)
        query = dataclasses.replace(query, sight=await sight_of(request))
        found = await services.store.find(principal.company_id, query)
        for nth, run in enumerate(found):
            found[nth], _ = await as_read(services, run)
        return await page_response(request, found, limit, "runs", name=lambda last: last.id, show=_VIEWS[view])


def _query(request: web.Request, limit: int) -> RunQuery:
    begins = request.query.get("id")
    if begins is not None and not _ID_BEGINS.fullmatch(begins):
        raise invalid((pointer("id"), "has to be the beginning of an id"))
    return RunQuery(
        limit=limit + 1,
        before=from_cursor(request, "runs", ID),
        status=one_of(request, "status", contract.STATUSES),
        vertical=request.query.get("vertical"),
        parked_at=request.query.get("parked_at"),
        business_key=request.query.get("business_key"),
        begins=begins,
        created_after=moment(request, "created_after"),
        created_before=moment(request, "created_before"),
        created_by=request.query.get("created_by"),
        clock_due_before=moment(request, "clock_due_before"),
        words=words(request),
    )


OK = 200


@Operation("Answer a call", PUBLIC, status=204, request=LaterAnswer, problems=(404, 409, 503))
async def answer_call(request: web.Request) -> web.Response:
    """Takes what a tool answers later, at the URL that came with the call as `X-Penstock-Callback`.

    The URL is the credential: it is signed, for one call of one run, and works once. The body is
    read as the response to the call would be, by the connector's rules.
    """
    services = request.app[SERVICES]
    place = existing(services.dispatcher.callbacks.parse(request.match_info["token"]))
    body = await read_object(request, optional=True)
    run = existing(await current(services, (place.company_id, place.run_id)))
    visit = run.awaiting(place.step_id, place.visit)
    if visit is None or visit.request is None:
        detail = "The call was answered already, or is not waited for any more."
        raise HttpProblem("not_awaited", detail, {"run_status": run.status})
    arrived = None if "Content-Encoding" in request.headers else request.content_length  # what is packed is larger
    given = HttpResponse(OK, body, 0, size=arrived or services.settings.response_bytes_max)
    asker = Asker(place.company_id, effect_key(place.run_id, place.step_id, place.visit))
    answer = await services.dispatcher.read_answer(asker, visit.request.tool, given)
    message = Settle(
        step_id=place.step_id, visit=place.visit, output=answer.body, signal=answer.signal, at=services.now()
    )
    decided = await services.directory.ask((place.company_id, place.run_id), message)
    if isinstance(decided, Rejected):
        raise rejection_problem(decided)
    return web.Response(status=204)

"""Gates: the inbox with filters and search, one gate, claims, and several verdicts at once."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from heapq import nsmallest
from typing import Any, NamedTuple
from uuid import UUID, uuid5

import msgspec
from aiohttp import web

from actors.actor import Overloaded, Stopped
from actors.core.actions.deciding import ActionFacts, context_key
from actors.core.calls import Connectors
from actors.core.eligibility import (
    Decider,
    GateDemand,
    Setting,
    entitled_to,
    excluded_by_setting,
    four_eyes_open,
    free_deciders,
    may_for_another,
    missing_right,
    why_not,
    why_not_for_anybody,
)
from actors.core.gate_policy import Batch
from actors.core.people import GATE_ROLES, Company, Person, rank
from actors.core.preview import Preview, PreviewedStep, previews
from actors.core.run import Run, Visit
from actors.ports import Asker, Receipt, StoreFailed
from daemon.contract import gates as contract
from daemon.contract.base import Empty
from daemon.contract.lists import GateCount, GateRow
from daemon.contract.templates import TIERS
from daemon.engine.upkeep import index_gates
from daemon.identity.accounts import Principal
from daemon.model.actions import ActionQuery, ActionRow
from daemon.model.inbox import GATE_ORDERS, Claim, GateFilter, GateGroup, GateKey, GateQuery
from daemon.model.pages import Page
from daemon.model.reading import Sight
from daemon.runtime.clock import new_id
from daemon.runtime.json_codec import dumps, loads
from daemon.web.bodies import page_limit, parse, path_key
from daemon.web.csv_lists import csv_list
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey, fingerprint, idempotent, key_reused
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of
from daemon.web.middleware.request_id import request_id_of
from daemon.web.operations import KEYED, LISTED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import HttpProblem, etag, existing, in_doubt, invalid, not_found, pointer, problem_of
from daemon.web.resources.decisions import resume_command
from daemon.web.resources.pages import ROW, in_turn, moment, one_of, rendered, words
from daemon.web.resources.run_commands import RunCommand, current, decide, readable, repeat_seen, sight_of
from daemon.web.resources.run_json import gate_head, gate_json, short_inputs
from daemon.web.resources.runs import as_read
from daemon.web.responses import (
    JSON,
    StoredResponse,
    from_cursor,
    json_response,
    list_response,
    next_page,
    problem_response,
    to_cursor,
)
from daemon.web.services import SERVICES, Services

BATCHES = UUID("1663e2bf-0a41-4bc3-b318-75d78c667c6d")
"""The name space of the ids of batches: a repeat after a kill names the batch that it began."""


EARLIER_MAX, DECIDERS_MAX = 20, 20


class GateInRun(NamedTuple):
    """An open gate with what surrounds it."""

    run: Run
    tag: str
    visit: Visit
    setting: Setting
    claim: Claim | None
    earlier: Sequence[ActionRow] = ()
    """What the agent of an action wanted before in its context, newest first."""


@Operation("Get an open gate", "read", contract.OpenGateDetail)
async def get_gate(request: web.Request) -> web.Response:
    """An open gate, and whether the caller may decide there."""
    return await _one(request)


@Operation("Preview the decisions at a gate", "read", contract.GatePreview, problems=(404,))
async def preview_gate(request: web.Request) -> web.Response:
    """What each decision leads to, up to the next human; nothing is called.

    What hangs on an answer that is not known yet is not `certain`.
    """
    one = await _found(request)
    work = partial(previews, one.run, one.visit, one.setting.template, one.setting.connectors)
    with slot_released():
        found = await request.app[SERVICES].evaluator.evaluated(Asker(one.run.company_id), one.run.size_bytes, work)
    return json_response({"decisions": [_preview_json(each, one.setting.connectors) for each in found]})


def _preview_json(one: Preview, connectors: Connectors) -> dict[str, Any]:
    steps = [_step_json(each, connectors) for each in one.steps]
    return {"decision": one.decision, "steps": steps, "gates": one.gates, "outcomes": one.outcomes}


def _step_json(one: PreviewedStep, connectors: Connectors) -> dict[str, Any]:
    node, mode = one.node, None
    if node.tool is not None:
        connector = connectors.get(node.tool)
        mode = "live" if connector is not None and connector.reversible else "shadow"
    about = {"step_id": node.id, "label": node.label, "kind": node.kind, "tool": node.tool, "effect": node.effect}
    return {**about, "mode": mode, "certain": one.certain}


@Operation("Claim a gate", "decide", contract.OpenGateDetail, request=Empty, headers=KEYED, problems=(403, 404))
@idempotent(optional=True, seen=repeat_seen)
async def claim_gate(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Says that the caller looks at a gate; others may decide all the same, or claim it in turn."""
    await parse(request, Empty, raw)
    services, principal, one = request.app[SERVICES], principal_of(request), await _found(request)
    gate, claim = (one.run.id, one.visit.step_id, one.visit.visit), Claim(principal.email, services.now())
    body = dumps(_shown(request, one._replace(claim=claim)))
    response = StoredResponse(200, body, {"Content-Type": JSON, "ETag": etag(one.tag)})
    receipt = None if key is None else key.receipt(response)
    await services.store.claim_gate(principal.company_id, gate, claim, receipt)
    services.feed.claims_changed(principal.company_id, one.run.id)
    return response


@Operation("Release a gate", "decide", contract.OpenGateDetail, problems=(403, 404))
async def release_gate(request: web.Request) -> web.Response:
    """Ends the claim of a gate, whoever made it."""
    services, principal, one = request.app[SERVICES], principal_of(request), await _found(request)
    await services.store.release_gate(principal.company_id, (one.run.id, one.visit.step_id, one.visit.visit))
    services.feed.claims_changed(principal.company_id, one.run.id)
    return await _one(request)


class VerdictAnswer(NamedTuple):
    """What became of one of several verdicts, and its run as JSON if it counts."""

    told: dict[str, Any]
    run: bytes | None = None

    def serialize(self) -> bytes:
        if self.run is None:
            return dumps(self.told)
        return b'%b,"run":%b,"problem":null}' % (dumps(self.told)[:-1], self.run)


async def finish_verdicts(request: web.Request, key: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    """The response to several verdicts that were given, of the receipt of each."""
    given = enumerate(loads(receipt.body)["results"])
    results = [await _given(request, _part(key, number), told) for number, told in given]
    return (await _answered(request, results)).as_replay()


async def _given(request: web.Request, part: IdempotencyKey, told: dict[str, Any]) -> VerdictAnswer:
    """What became of a verdict that was given; not found where its run is closed by now."""
    if "problem" in told:
        return VerdictAnswer(told)
    kept = await request.app[SERVICES].store.receipt(*part.scope)
    if kept is None or not kept.body:  # the values of its run were redacted
        raise key_reused()
    try:
        await repeat_seen(request, kept)
    except HttpProblem as closed:
        response = problem_response(closed, request_id_of(request))
        return VerdictAnswer({**told, "status": response.status, "run": None, "problem": loads(response.body)})
    return VerdictAnswer(told, kept.body)


@Operation(
    "Decide at several gates",
    "decide",
    contract.VerdictResults,
    request=contract.RunVerdicts,
    headers=(*KEYED, "traceparent"),
    problems=(403,),
)
@idempotent(finish_verdicts)
async def give_verdicts(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Gives up to 100 verdicts, each as if it came alone, and answers with one result for each.

    Each needs the digest of what was seen. One that is refused leaves the others as they are, as
    `batch_refused` at a gate whose `policy.batch` is not `allowed`. The record of each names the
    batch.
    """
    body = await parse(request, contract.RunVerdicts, raw)
    batch_id = new_id() if key is None else str(uuid5(BATCHES, repr((key.scope, key.fingerprint))))
    batch, results = Batch(batch_id, len(body.verdicts)), list[VerdictAnswer]()
    try:
        for number, one in enumerate(body.verdicts):
            part = None if key is None else replace(_part(key, number), fingerprint=fingerprint(one))
            results.append(await _result(request, one, part, batch))
    except (Overloaded, Stopped, StoreFailed) as error:
        raise in_doubt(existing(problem_of(error))) if results else error from None
    if key is not None:  # the runs stand in the receipts of their verdicts, and only there
        kept = key.sealed_receipt(dumps({"results": [one.told for one in results]}))
        await request.app[IDEMPOTENCY].keep(kept)
    return await _answered(request, results)


def _part(key: IdempotencyKey, number: int) -> IdempotencyKey:
    """The key of one of several verdicts, so that a repeat after a crash decides nothing twice."""
    return replace(key, path=f"{key.path}#{number}")


async def _answered(request: web.Request, results: Sequence[VerdictAnswer]) -> StoredResponse:
    def written() -> bytes:
        return b'{"results":[%b]}' % b",".join([one.serialize() for one in results])

    size = sum(len(one.run or b"") for one in results)
    body = await request.app[SERVICES].offload.run_by_size(principal_of(request).company_id, size, written)
    return StoredResponse(200, body, {"Content-Type": JSON})


async def _result(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None, batch: Batch) -> VerdictAnswer:
    response = await decide(request, partial(_build, batch), raw, key)
    told = {"run_id": raw.get("run_id"), "gate": raw.get("gate"), "status": response.status}
    if response.status < 400:  # noqa: PLR2004 - the first status of a problem
        return VerdictAnswer(told, response.body)
    return VerdictAnswer({**told, "run": None, "problem": loads(response.body)})


async def _build(batch: Batch, request: web.Request, raw: dict[str, Any]) -> RunCommand:
    body = await parse(request, contract.RunVerdict, raw)
    if body.digest is None:
        raise invalid((pointer("digest"), "is missing: it says what was decided on"))
    if not ID.fullmatch(body.run_id):
        raise not_found()
    return resume_command(request, (principal_of(request).company_id, body.run_id), body, None, batch)


async def _one(request: web.Request) -> web.Response:
    one = await _found(request)
    return json_response(_shown(request, one), headers={"ETag": etag(one.tag)})


def _shown(request: web.Request, one: GateInRun) -> dict[str, Any]:
    """The open gate as it is answered."""
    now, company = request.app[SERVICES].now(), one.setting.company
    return {
        **open_gate_json(one, principal=principal_of(request), company=company, now=now),
        **_deciders_json(free_deciders(one.visit, one.run, one.setting), company),
    }


def _deciders_json(deciders: Collection[str], company: Company) -> dict[str, Any]:
    first = nsmallest(DECIDERS_MAX, deciders, key=lambda email: (rank(company.person(email).role), email))
    return {"deciders": first, "deciders_count": len(deciders)}


async def _found(request: web.Request) -> GateInRun:
    """The open gate that the path names."""
    services, run_key = request.app[SERVICES], path_key(request, "run_id")
    run, step_id = await readable(request, run_key), request.match_info["step_id"]
    company = await services.identity.companies.load(run.company_id)
    visit = run.at(step_id)
    if visit is None or visit.status != "parked":
        raise not_found("No gate of this step is open.")
    claims = await services.store.claims(run.company_id, [(run.id, step_id)])
    one = await gate_as_read(services, run, step_id, company, claims.get((run.id, step_id, visit.visit)))
    return one if run.action is None else one._replace(earlier=await _earlier(request, run, run.action))


async def _earlier(request: web.Request, run: Run, action: ActionFacts) -> Sequence[ActionRow]:
    key = context_key(action.context)
    if key is None:
        return ()
    agent: Any = {"agent": action.agent, "agent_id": action.agent_id, "context_key": key}
    query = ActionQuery(EARLIER_MAX, before=run.id, **agent, sight=await sight_of(request))
    return await request.app[SERVICES].store.actions(run.company_id, query)


async def gate_as_read(services: Services, run: Run, step_id: str, company: Company, claim: Claim | None) -> GateInRun:
    return await _gate_of(services, await as_read(services, run), step_id, company, claim)


async def _gate_of(
    services: Services, stands: tuple[Run, str], step_id: str, company: Company, claim: Claim | None
) -> GateInRun:
    """A gate of a run that was read, with its entity tag."""
    run, tag = stands
    template = await services.catalog.pinned(run.company_id, run.template_digest)
    connectors: Connectors = await services.connector_service.connectors(run.company_id)
    return GateInRun(run, tag, existing(run.at(step_id)), Setting(template, connectors, company), claim)


def open_gate_json(one: GateInRun, principal: Principal, company: Company, now: datetime) -> dict[str, Any]:
    gate = gate_json(one.visit, one.run) or {}
    me = decider_of(principal, company)
    alone = why_not(me, one.visit, one.run, one.setting)
    other = alone is not None and may_for_another(me, one.visit, one.run, one.setting, now)
    barred = None if other else alone
    asked = one.visit.gate
    return {
        "run_id": one.run.id,
        "vertical": one.run.vertical,
        "title": one.setting.template.title,
        "business_key": one.run.business_key,
        "gate": gate,
        "can_decide": barred is None,
        "why_not": barred,
        "for_another": other,
        **{name: gate.get(name) for name in ("due_at", "clock_due_at", "escalation", "verdicts", "proposals")},
        "solo": company.solo and asked is not None and asked.asks_people,
        "four_eyes_open": four_eyes_open(one.visit, one.run, company),
        "claimed_by": None if one.claim is None else one.claim.by,
        "claimed_at": None if one.claim is None else one.claim.at,
        "earlier": [contract.EarlierCall.view(each, id=each.run_id) for each in one.earlier],
    }


def decider_of(principal: Principal, company: Company) -> Decider:
    person = company.people.get(principal.email) or Person(principal.member_id, principal.email, principal.role)
    return Decider(person, principal.kind)


FILTERS = ("vertical", "tier", "role", "group", "run_id", "opened_before", "due_before", "q")
LOOKED_AT = 100
SCANNED_MAX = 2_000
"""Gates that one request looks at, where what is listed has changed meanwhile."""
_ASKED = msgspec.json.Decoder(GateDemand)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Who lists gates, in what company."""

    services: Services
    principal: Principal
    company: Company
    givers: frozenset[str]
    """The addresses of those who let the reader decide in their place."""
    sight: Sight | None
    """What of the gates may be listed."""

    @classmethod
    async def for_request(cls, request: web.Request) -> _Reader:
        services, principal = request.app[SERVICES], principal_of(request)
        company = await services.identity.companies.load(principal.company_id)
        me = decider_of(principal, company)
        given = company.givers(me.person, services.now()) if me.kind == "person" else ()
        sight = await sight_of(request)
        return cls(services, principal, company, frozenset(one.email for one in given), sight)

    async def groups(self, request: web.Request, which: GateFilter) -> Sequence[tuple[GateGroup, GateDemand]]:
        """The open gates counted by what they ask, of those for a role and a group."""
        role, group = one_of(request, "role", GATE_ROLES), request.query.get("group")
        found = await self.services.store.gate_groups(self.principal.company_id, which, self.principal.email)
        known = [(one, _ASKED.decode(one.asked)) for one in found if one.asked]
        return [
            (one, asked)
            for one, asked in known
            if role in (None, asked.role) and (group is None or group in self._groups_of(asked))
        ]

    def _groups_of(self, asked: GateDemand) -> Collection[str]:
        """The groups that decide where this is asked: those of its function once it is bound."""
        binding = self.company.binding(asked.function)
        return binding.groups if binding.bound else asked.groups

    @property
    def now(self) -> datetime:
        return self.services.now()

    async def fits(self, asked: GateDemand) -> bool:
        """Whether the caller may decide where this is asked, unless the run excludes them."""
        me = decider_of(self.principal, self.company)
        return missing_right(me, asked, self.company) is None and not me.people & await self._authors(asked)

    async def fits_for_another(self, asked: GateDemand) -> bool:
        """As `fits`, in the place of somebody who lets the caller decide."""
        entitled = self.givers and entitled_to(asked, self.company) & self.givers
        if not entitled:
            return False
        authors = await self._authors(asked)
        return self.principal.email not in authors and not entitled <= authors

    async def fits_anyhow(self, asked: GateDemand) -> bool:
        return await self.fits(asked) or await self.fits_for_another(asked)

    async def _authors(self, asked: GateDemand) -> frozenset[str]:
        """The authors whom four eyes keep from deciding where this is asked."""
        if not asked.authors or self.company.solo:
            return frozenset()
        template = await self.services.catalog.pinned(self.principal.company_id, asked.template_digest)
        connectors = await self.services.connector_service.connectors(self.principal.company_id)
        return excluded_by_setting(asked, Setting(template, connectors, self.company))

    def may_decide(self, one: GateInRun) -> bool:
        me = decider_of(self.principal, self.company)
        return why_not_for_anybody(me, one.visit, one.run, one.setting, self.now) is None


@Operation(
    "List the open gates",
    "read",
    list[contract.OpenGate | GateRow],
    query=("mine", "order", "view", *FILTERS, *LISTED),
)
@csv_list(contract.OpenGate, "gates", row=GateRow)
async def list_gates(request: web.Request) -> web.Response:
    """The open gates of all runs, the most urgent first: by deadline, then by risk, then by age.

    `mine=true` are those at which the caller may decide. `q` looks for words in labels, business
    keys, ids, templates, people and input values. `view=row` has what a list shows.
    """
    limit, order = page_limit(request), one_of(request, "order", GATE_ORDERS) or "urgency"
    row, cursor = one_of(request, "view", (ROW,)) is not None, f"gates-{order}"
    mine, after = one_of(request, "mine", ("true", "false")) == "true", from_cursor(request, cursor)
    async with in_turn(request):
        reader = await _Reader.for_request(request)
        which = _which(request, reader)
        await _indexed(reader, which)
        if mine or not request.query.keys().isdisjoint(("role", "group")):
            which = await _for_whom(request, reader, which, mine=mine)
        query = GateQuery(limit + 1, after, order, which)
        found, reached = await _page(reader, query, mine=mine)
        show = partial(
            _row_json if row else open_gate_json, principal=reader.principal, company=reader.company, now=reader.now
        )
        page = Page(one for one, _ in found)
        page.size = sum(one.run.size_bytes for one in page)
        items = await rendered(request, page, limit, show)
    if len(found) > len(items):
        reached = found[len(items) - 1][1]
    return list_response(items, None if reached is None else next_page(request, to_cursor(cursor, reached)))


@Operation("Count the open gates", "read", GateCount, query=FILTERS)
async def count_gates(request: web.Request) -> web.Response:
    """How many gates are open, and at how many of them the caller may decide."""
    reader = await _Reader.for_request(request)
    which = _which(request, reader)
    await _indexed(reader, which)
    found = await reader.groups(request, which)
    fitting = [group for group, asked in found if await reader.fits(asked)]
    mine = sum(group.gates - (group.decided if reader.company.solo else group.closed) for group in fitting)
    if any(group.for_another for group in fitting):
        mine -= await _decided_for_another(reader, _mine(reader, which, tuple(group.asked for group in fitting)))
    mine += await _by_delegation(reader, which, [one for one in found if one[0] not in fitting])
    return json_response({"open": sum(group.gates for group, _ in found), "mine": mine})


async def _by_delegation(reader: _Reader, which: GateFilter, found: Sequence[tuple[GateGroup, GateDemand]]) -> int:
    """How many gates the caller may decide at in the place of another alone."""
    asked = tuple([group.asked for group, asked in found if await reader.fits_for_another(asked)])
    count, more = 0, bool(asked)
    query = GateQuery(LOOKED_AT, which=_mine(reader, which, asked))
    while more:
        keys = await reader.services.store.open_gates(reader.principal.company_id, query)
        count += sum(reader.may_decide(one) for one, _ in await _listed(reader, keys))
        more = len(keys) == query.limit
        if keys:
            query = replace(query, after=keys[-1].place)
    return count


async def _decided_for_another(reader: _Reader, which: GateFilter) -> int:
    """How many of the caller's gates a delegate's verdict closes to them; it may count no more."""
    closed, more = 0, True
    query = GateQuery(LOOKED_AT, which=replace(which, delegated=reader.principal.email))
    while more:
        keys = await reader.services.store.open_gates(reader.principal.company_id, query)
        closed += sum(not reader.may_decide(one) for one, _ in await _listed(reader, keys))
        more = len(keys) == query.limit
        if keys:
            query = replace(query, after=keys[-1].place)
    return closed


async def _indexed(reader: _Reader, which: GateFilter) -> None:
    if which.words:
        await index_gates(reader.services.store)


async def _for_whom(request: web.Request, reader: _Reader, which: GateFilter, *, mine: bool) -> GateFilter:
    """The filter, narrowed down to gates for the caller, or for a role and a group."""
    about = GateFilter(vertical=which.vertical, tier=which.tier, run_id=which.run_id, sight=which.sight)
    groups = await reader.groups(request, about)
    asked = tuple([one.asked for one, asked in groups if not mine or await reader.fits_anyhow(asked)])
    return _mine(reader, which, asked) if mine else replace(which, asked=asked)


def _mine(reader: _Reader, which: GateFilter, asked: tuple[str, ...]) -> GateFilter:
    """Those at which nothing that is known here keeps the caller from deciding."""
    email = reader.principal.email
    return replace(which, asked=asked, not_decided=email, not_barred=None if reader.company.solo else email)


async def _page(reader: _Reader, query: GateQuery, *, mine: bool) -> tuple[Sequence[tuple[GateInRun, str]], str | None]:
    """The gates of a page, one more than it shows if there are, and where the next begins."""
    found: list[tuple[GateInRun, str]] = []
    more, scanned = True, 0
    while more and len(found) < query.limit and scanned < SCANNED_MAX:
        keys = await reader.services.store.open_gates(reader.principal.company_id, query)
        more, scanned = len(keys) == query.limit, scanned + len(keys)
        found += [one for one in await _listed(reader, keys) if not mine or reader.may_decide(one[0])]
        if keys:
            query = replace(query, after=keys[-1].place)
    return found, query.after if more else None


async def _listed(reader: _Reader, keys: Sequence[GateKey]) -> list[tuple[GateInRun, str]]:
    """The gates that are still open, with their places."""
    claims = await reader.services.store.claims(reader.principal.company_id, [key[:2] for key in keys])
    run_ids = list({key.run_id: None for key in keys})  # each run is read once, however many gates it has
    read = await asyncio.gather(*(_read(reader, run_id) for run_id in run_ids))
    runs = dict(zip(run_ids, read, strict=True))
    found = [await _open(reader, key, runs[key.run_id], claims.get(key[:3])) for key in keys]
    return [(one, key.place) for one, key in zip(found, keys, strict=True) if one is not None]


async def _read(reader: _Reader, run_id: str) -> tuple[Run, str] | None:
    run = await current(reader.services, (reader.principal.company_id, run_id))
    return None if run is None else await as_read(reader.services, run)


async def _open(reader: _Reader, key: GateKey, stands: tuple[Run, str] | None, claim: Claim | None) -> GateInRun | None:
    visit = None if stands is None else stands[0].at(key.step_id)
    if stands is None or visit is None or (visit.status, visit.visit) != ("parked", key.visit):
        return None
    return await _gate_of(reader.services, stands, key.step_id, reader.company, claim)


def _which(request: web.Request, reader: _Reader) -> GateFilter:
    return GateFilter(
        sight=reader.sight,
        vertical=request.query.get("vertical"),
        tier=one_of(request, "tier", TIERS),
        due_before=moment(request, "due_before"),
        opened_before=moment(request, "opened_before"),
        run_id=request.query.get("run_id"),
        words=words(request),
    )


def _row_json(one: GateInRun, principal: Principal, company: Company, now: datetime) -> dict[str, Any]:
    barred = why_not_for_anybody(decider_of(principal, company), one.visit, one.run, one.setting, now)
    asked = one.visit.gate
    return {
        "run_id": one.run.id,
        "vertical": one.run.vertical,
        "title": one.setting.template.title,
        "business_key": one.run.business_key,
        "inputs": short_inputs(one.run),
        "gate": gate_head(one.visit, one.run),
        "can_decide": barred is None,
        "why_not": barred,
        "solo": company.solo and asked is not None and asked.asks_people,
        "claimed_by": None if one.claim is None else one.claim.by,
        "claimed_at": None if one.claim is None else one.claim.at,
    }

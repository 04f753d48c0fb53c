"""Gates: the inbox, one gate, claims, and several verdicts at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from aiohttp import web

from actors.core.calls import Connectors
from actors.core.eligibility import Decider, Setting, four_eyes_open, why_not, why_not_for_anybody
from actors.core.gate_policy import Batch
from actors.core.people.company import Company, Person
from actors.core.preview import Preview, PreviewStep, previews
from actors.core.run import Run, Visit
from actors.ports import Asker
from daemon.contract import gates as contract
from daemon.contract.base import Empty
from daemon.identity.accounts import Principal
from daemon.model.inbox import Claim
from daemon.runtime.ids import new_id
from daemon.runtime.json_codec import dumps, loads
from daemon.web.bodies import parse, path_key
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey, fingerprint, idempotent
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import etag, existing, invalid, not_found, pointer
from daemon.web.resources.decisions import resume_command
from daemon.web.resources.run_commands import RunCommand, current, decide
from daemon.web.resources.run_json import gate_json
from daemon.web.resources.runs import as_read
from daemon.web.responses import JSON, StoredResponse, json_response
from daemon.web.services import SERVICES, Services

BATCHES = UUID("1663e2bf-0a41-4bc3-b318-75d78c667c6d")
"""The name space of the ids of batches: a repeat after a kill names the batch that it began."""


class GateInRun(NamedTuple):
    """An open gate with what surrounds it."""

    run: Run
    tag: str
    visit: Visit
    setting: Setting
    claim: Claim | None


@Operation("Get an open gate", "read", contract.OpenGate)
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


def _step_json(one: PreviewStep, connectors: Connectors) -> dict[str, Any]:
    node, mode = one.node, None
    if node.tool is not None:
        connector = connectors.get(node.tool)
        mode = "live" if connector is not None and connector.reversible else "shadow"
    about = {"step_id": node.id, "label": node.label, "kind": node.kind, "tool": node.tool, "effect": node.effect}
    return {**about, "mode": mode, "certain": one.certain}


@Operation("Claim a gate", "decide", contract.OpenGate, request=Empty, headers=KEYED, problems=(403, 404))
@idempotent(optional=True)
async def claim_gate(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Says that the caller looks at a gate; others may decide all the same, or claim it in turn."""
    await parse(request, Empty, raw)
    services, principal, one = request.app[SERVICES], principal_of(request), await _found(request)
    gate, claim = (one.run.id, one.visit.step_id, one.visit.visit), Claim(principal.email, services.now())
    body = dumps(_shown(request, one._replace(claim=claim)))
    response = StoredResponse(200, body, {"Content-Type": JSON, "ETag": etag(one.tag)})
    receipt = None if key is None else key.receipt(response)
    await services.store.claim_gate(principal.company_id, gate, claim, receipt)
    services.feed.claims_changed(principal.company_id)
    return response


@Operation("Release a gate", "decide", contract.OpenGate, problems=(403, 404))
async def release_gate(request: web.Request) -> web.Response:
    """Ends the claim of a gate, whoever made it."""
    services, principal, one = request.app[SERVICES], principal_of(request), await _found(request)
    await services.store.release_gate(principal.company_id, (one.run.id, one.visit.step_id, one.visit.visit))
    services.feed.claims_changed(principal.company_id)
    return await _one(request)


@Operation(
    "Decide at several gates",
    "decide",
    contract.VerdictResults,
    request=contract.RunVerdicts,
    headers=(*KEYED, "traceparent"),
    problems=(403,),
)
@idempotent()
async def give_verdicts(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Gives up to 100 verdicts, each as if it came alone, and answers with one result for each.

    Each needs the digest of what was seen. One that is refused leaves the others as they are, as
    `batch_refused` at a gate whose `policy.batch` is not `allowed`. The record of each names the
    batch.
    """
    body = await parse(request, contract.RunVerdicts, raw)
    batch_id = new_id() if key is None else str(uuid5(BATCHES, repr((key.scope, key.fingerprint))))
    batch = Batch(batch_id, len(body.verdicts))
    results = [await _result(request, one, _part(key, number, one), batch) for number, one in enumerate(body.verdicts)]
    response = StoredResponse(200, dumps({"results": results}), {"Content-Type": JSON})
    if key is not None:  # after a kill it is made anew, of the receipts of its verdicts
        await request.app[IDEMPOTENCY].keep(key.receipt(response))
    return response


def _part(key: IdempotencyKey | None, number: int, raw: dict[str, Any]) -> IdempotencyKey | None:
    """The key of one of several verdicts, so that a repeat after a crash decides nothing twice."""
    return None if key is None else replace(key, path=f"{key.path}#{number}", fingerprint=fingerprint(raw))


async def _result(
    request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None, batch: Batch
) -> dict[str, Any]:
    response = await decide(request, partial(_build, batch), raw, key)
    done = response.status < 400  # noqa: PLR2004 - the first status of a problem
    told = {"run_id": raw.get("run_id"), "gate": raw.get("gate"), "status": response.status}
    return {**told, "run": loads(response.body) if done else None, "problem": None if done else loads(response.body)}


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
    now = request.app[SERVICES].now()
    return open_gate_json(one, principal=principal_of(request), company=one.setting.company, now=now)


async def _found(request: web.Request) -> GateInRun:
    """The open gate that the path names."""
    services, run_key = request.app[SERVICES], path_key(request, "run_id")
    run, step_id = existing(await current(services, run_key)), request.match_info["step_id"]
    company = await services.identity.companies.of(run.company_id)
    visit = run.at(step_id)
    if visit is None or visit.status != "parked":
        raise not_found("No gate of this step is open.")
    claims = await services.store.claims(run.company_id, [(run.id, step_id)])
    return await gate_as_read(services, run, step_id, company, claims.get((run.id, step_id, visit.visit)))


async def gate_as_read(services: Services, run: Run, step_id: str, company: Company, claim: Claim | None) -> GateInRun:
    run, tag = await as_read(services, run)
    template = await services.catalog.pinned(run.company_id, run.template_digest)
    connectors: Connectors = await services.connector_service.connectors(run.company_id)
    return GateInRun(run, tag, existing(run.at(step_id)), Setting(template, connectors, company), claim)


def open_gate_json(one: GateInRun, principal: Principal, company: Company, now: datetime) -> dict[str, Any]:
    gate = gate_json(one.visit) or {}
    me = decider_of(principal, company)
    barred = why_not_for_anybody(me, one.visit, one.run, one.setting, now)
    asked = one.visit.gate
    return {
        "run_id": one.run.id,
        "vertical": one.run.vertical,
        "title": one.setting.template.title,
        "business_key": one.run.business_key,
        "gate": gate,
        "can_decide": barred is None,
        "why_not": barred,
        "for_another": barred is None and why_not(me, one.visit, one.run, one.setting) is not None,
        **{name: gate.get(name) for name in ("due_at", "escalation", "verdicts", "proposals")},
        "solo": company.solo and asked is not None and asked.asks_people,
        "four_eyes_open": four_eyes_open(one.visit, one.run, company),
        "claimed_by": None if one.claim is None else one.claim.by,
        "claimed_at": None if one.claim is None else one.claim.at,
    }


def decider_of(principal: Principal, company: Company) -> Decider:
    person = company.people.get(principal.email) or Person(principal.member_id, principal.email, principal.role)
    return Decider(person, principal.kind)

"""The Agent Approval Protocol: agents ask for approvals, use them up, and tell what came of it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from actors.core.actions.deciding import Call
from actors.core.commands.handovers import granted
from actors.core.messages import Cancel, Command, Consume, Rejected, ReportOutcome
from actors.core.people import ACTIONS
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import Receipt
from daemon.aap import exact, shapes
from daemon.aap.shapes import AapMisfit, Asked, request_json, status_of
from daemon.actions.deciding import Held
from daemon.actions.making import AgentPatience
from daemon.identity.tokens import NotAuthenticated, Principal
from daemon.model.events.company import Pause
from daemon.runtime.clock import new_id
from daemon.runtime.json_codec import NotJson, dumps
from daemon.web.bodies import traceparent
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey
from daemon.web.incoming import beside_loop, read_bytes
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import MACHINE, permit_again, principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.parameters import ID, KEY_CHARS_MAX
from daemon.web.problems import HttpProblem, existing, not_found, rejection_problem
from daemon.web.resources.run_commands import current
from daemon.web.responses import JSON, StoredResponse, json_response
from daemon.web.services import SERVICES, Services

REQUESTS = "/aap/v1/requests"
PENDING = "pending"
PAUSE_RETRY_S = 30
CONFLICT = 409
_CODES = ("already_consumed", "approval_expired", "not_approved", "not_consumed", "outcome_conflict")


@Operation("Ask for an approval", "act", status=201, headers=KEYED)
async def create_approval_request(request: web.Request) -> web.Response:
    """Asks whether a call may be made; the same key and body answer with how that stands by now."""
    principal = _agent(request)
    text, body = key_of(request), await json_body(request)
    wanted = await beside_loop(request, partial(fitting, shapes.asked, body))
    digest = await beside_loop(request, partial(exact.fingerprint, body))
    key = IdempotencyKey(principal.company_id, REQUESTS, text, digest, principal.user_id, principal.email)
    begin, repeat = partial(_begin, request, principal, wanted, key), partial(_repeat, request)
    response = await request.app[IDEMPOTENCY].answer(key, begin, repeat, partial(permit_again, request))
    return response.response()


@Operation("Get an approval", "act", query=("wait",))
async def get_approval_request(request: web.Request) -> web.Response:
    """How a request stands; with `wait` once it is decided, or when the wait ends."""
    wait_s = fitting(shapes.wait_s, request.query.get("wait"))
    run = await _find(request)
    if wait_s and status_of(run) == PENDING:
        run = await _decided(request, run, wait_s)
    return json_response(request_json(run))


@Operation("Cancel a request for an approval", "act")
async def cancel_approval_request(request: web.Request) -> web.Response:
    """Cancels what nobody has decided on; said again it changes nothing."""
    run, principal = await _find(request), _agent(request)
    message = Cancel(by=principal.email, by_kind=principal.kind, via=principal.via, at=request.app[SERVICES].now())
    if status_of(run) == PENDING:
        run = await _ask(request, run, message, _pending)
    if status_of(run) != "cancelled":
        raise conflict("already_terminal", "The request was decided before.")
    return json_response(request_json(run))


@Operation("Use an approval up", "act", headers=KEYED)
async def consume_approval(request: web.Request) -> web.Response:
    """Uses an approval up, once, right before the call; the same key is answered alike."""
    text, run, principal = key_of(request), await _find(request), _agent(request)
    message = Consume(
        key_hash=hashlib.sha256(f"{principal.user_id}\n{text}".encode()).hexdigest(),
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        at=request.app[SERVICES].now(),
    )
    held = partial(_held, request.app[SERVICES], principal)
    return json_response(request_json(await _ask(request, run, message, held)))


@Operation("Tell the outcome of a call", "act")
async def report_outcome(request: web.Request) -> web.Response:
    """Takes what came of the call that was made; the same again changes nothing."""
    run, principal = await _find(request), _agent(request)
    status, note = fitting(shapes.told, exact.held(await json_body(request)))
    who: Any = {"by": principal.email, "by_kind": principal.kind, "via": principal.via}
    message = ReportOutcome(status=status, note=note, **who, at=request.app[SERVICES].now())
    return json_response(request_json(await _ask(request, run, message)))


async def _begin(request: web.Request, principal: Principal, wanted: Asked, key: IdempotencyKey) -> StoredResponse:
    """Decide about the call, and start the action that it becomes."""
    services, company_id, run_id = request.app[SERVICES], principal.company_id, new_id()
    call = Call(
        tool=wanted.tool,
        server=wanted.server,
        arguments=wanted.arguments,
        agent=principal.email,
        agent_id=principal.user_id,
        reasoning=wanted.reasoning,
        context=wanted.context,
    )
    _refuse_paused(services.deciding.pauses.why(company_id, principal.email))
    await services.stored.begin_run(company_id, run_id)
    found = await services.deciding.decide(principal, call, run_id=run_id, way="aap")
    if isinstance(found, Held):
        raise paused(found.pause)
    try:
        start, template = await services.making.start(
            principal,
            run_id,
            found,
            patience=AgentPatience(wanted.timeout, wanted.patience),
            outcome_within=services.identity.policies.outcome_within(company_id),
            traceparent=traceparent(request),
        )
        if wanted.written is not None and start.action is not None:
            facts = msgspec.structs.replace(start.action, written=wanted.written)
            start = msgspec.structs.replace(start, action=facts)
        done = await services.directory.ask(
            (company_id, run_id),
            start,
            template=template,
            receipt=lambda run, _: key.pending_receipt(run.id, 201, {}),
            renew=partial(_renewed, request, start, None),
        )
    except BaseException:
        await services.deciding.give_back(company_id, run_id)
        raise
    if isinstance(done, Rejected):
        await services.deciding.give_back(company_id, run_id)
        raise rejection_problem(done)
    return _stored(done.run, 201)


async def _repeat(request: web.Request, receipt: Receipt) -> StoredResponse:
    run = await current(request.app[SERVICES], (receipt.company_id, receipt.run_id or ""))
    return _stored(existing(run), 200)


def _stored(run: Run, status: int) -> StoredResponse:
    return StoredResponse(status, dumps(request_json(run)), {"Content-Type": JSON})


Check = Callable[[Run], Rejected | Exception | None]


async def _ask(request: web.Request, run: Run, message: Command, check: Check | None = None) -> Run:
    """Have the run's actor decide; the run after it."""
    services = request.app[SERVICES]
    renew = partial(_renewed, request, message, check)
    done = await services.directory.ask((run.company_id, run.id), message, renew=renew)
    rejected = done if isinstance(done, Rejected) else done.rejected
    if isinstance(done, Rejected) or rejected is not None:
        assert rejected is not None  # noqa: S101 - one of the two is
        if rejected.code in (*_CODES, "already_terminal"):
            raise conflict(rejected.code, rejected.detail)
        if rejected.code == "not_cancellable":
            raise conflict("already_terminal", rejected.detail)
        raise rejection_problem(rejected)
    return done.run


async def _renewed(
    request: web.Request, message: Command, check: Check | None, run: Run | None, _: Template
) -> Command | Rejected | Exception:
    """The message, as far as its sender may send it by now, and nothing holds it up."""
    try:
        await permit_again(request)
    except (HttpProblem, NotAuthenticated) as refused:
        return refused
    refusal = None if check is None or run is None else check(run)
    return message if refusal is None else refusal


def _pending(run: Run) -> Rejected | None:
    if status_of(run) in (PENDING, "cancelled"):
        return None
    return Rejected("already_terminal", "The request was decided before.")


def _held(services: Services, principal: Principal, run: Run) -> Exception | None:
    """Why an approval is not used now: the agent is stopped; what is used up was before that."""
    visit = granted(run)
    if visit is None or visit.grant is None or visit.grant.consumed_at is not None:
        return None
    pause = services.deciding.pauses.why(principal.company_id, principal.email)
    return None if pause is None else paused(pause)


def _refuse_paused(pause: Pause | None) -> None:
    if pause is not None:
        raise paused(pause)


def paused(pause: Pause) -> HttpProblem:
    """An agent that is stopped makes no calls until that is lifted."""
    headers = {"Retry-After": str(PAUSE_RETRY_S)}
    return HttpProblem("paused", f"The agent is stopped: {pause.reason}", headers=headers, other_status=503)


async def _decided(request: web.Request, run: Run, wait_s: float) -> Run:
    """The request once it is decided, or as it is when the wait or the service ends."""
    services, key = request.app[SERVICES], (run.company_id, run.id)
    with slot_released(), services.feed.follow(*key) as subscription:
        run = await current(services, key) or run
        try:
            async with asyncio.timeout(wait_s):
                while status_of(run) == PENDING:
                    later, _ = await subscription.next()
                    run = later if later is not None and later.version >= run.version else run
        except (TimeoutError, EOFError):
            pass
    await permit_again(request)
    return run


async def _find(request: web.Request) -> Run:
    """The request that the path names; 404 for one of another agent."""
    run_id, principal = request.match_info["request_id"], _agent(request)
    if not ID.fullmatch(run_id):
        raise not_found()
    run = await current(request.app[SERVICES], (principal.company_id, run_id))
    if run is None or run.action is None or (run.action.way, run.action.agent_id) != ("aap", principal.user_id):
        raise not_found()
    return run


def _agent(request: web.Request) -> Principal:
    """The instance that asks: an agent's key; 403 for people and other keys."""
    principal = principal_of(request)
    if principal.kind != "agent":
        more = {"required": ACTIONS["act"].role, "reason": MACHINE}
        raise HttpProblem("forbidden", "Only the credential of an instance asks here, an agent's key.", more)
    return principal


def key_of(request: web.Request) -> str:
    key = request.headers.get("Idempotency-Key")
    if not key:
        raise HttpProblem("missing_idempotency_key", "This needs an Idempotency-Key.", other_status=400)
    if len(key) > KEY_CHARS_MAX or not key.isprintable():
        raise misfit(AapMisfit(f"An Idempotency-Key has 1 to {KEY_CHARS_MAX} printable characters."))
    return key


async def json_body(request: web.Request) -> Any:
    """The JSON in the body, with numbers as they came."""
    raw = await read_bytes(request)
    kind = request.headers.get("Content-Type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise HttpProblem("unsupported_media_type", "The body has to be application/json.")
    try:
        return await beside_loop(request, partial(exact.parsed, raw))
    except NotJson as error:
        raise misfit(AapMisfit(str(error))) from None


def fitting(check: Callable[[Any], Any], value: Any) -> Any:
    try:
        return check(value)
    except AapMisfit as wrong:
        raise misfit(wrong) from None


def misfit(wrong: AapMisfit) -> HttpProblem:
    detail = wrong.detail if wrong.param is None else f"{wrong.param} {wrong.detail}."
    return HttpProblem(wrong.code, detail, {"param": wrong.param}, other_status=400)


def conflict(code: str, detail: str) -> HttpProblem:
    return HttpProblem(code, detail, other_status=CONFLICT)


ROUTES: tuple[tuple[str, str, Any], ...] = (
    ("POST", REQUESTS, create_approval_request),
    ("GET", f"{REQUESTS}/{{request_id}}", get_approval_request),
    ("DELETE", f"{REQUESTS}/{{request_id}}", cancel_approval_request),
    ("POST", f"{REQUESTS}/{{request_id}}/consume", consume_approval),
    ("POST", f"{REQUESTS}/{{request_id}}/outcome", report_outcome),
)

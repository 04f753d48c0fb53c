"""Runs: start, read, decide, cancel, retry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from actors.core.messages import Cancel, Command, Rejected, Resume, Retry, Start
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import Receipt, StoreFailed
from daemon.contract.base import Empty
from daemon.contract.runs import STATUSES, CancelRun, ResumeRun, StartRun
from daemon.model import RunQuery
from daemon.runtime.ids import new_id
from daemon.runtime.json_codec import dumps
from daemon.web import render
from daemon.web.bodies import has_already, if_match, page_limit, parse, prefer, traceparent
from daemon.web.idempotency import IDEMPOTENCY, Finish, IdempotencyKey, idempotent
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of, request_id_of
from daemon.web.parameters import ID
from daemon.web.problems import etag, invalid, not_found, rejected
from daemon.web.response_cache import RESPONSE_CACHE
from daemon.web.responses import StoredResponse, from_cursor, page_response, problem_response, run_response
from daemon.web.services import SERVICES, Services
from daemon.web.standing import as_read


@dataclass(frozen=True, slots=True)
class Manner:
    """How the answer to a request is to look: its status, and how long the caller waits for the run to rest."""

    request_id: str
    wait_s: float | None
    status: int = 200

    def reply(self, run: Run, body: bytes) -> StoredResponse:
        """The answer: 202 while the run still executes, or when nobody waited for it."""
        status = 202 if self.wait_s is None or run.status == "executing" else self.status
        return run_response(run, body, status, created=self.status == web.HTTPCreated.status_code)

    def refusal(self, refused: Rejected) -> StoredResponse:
        """The answer to a command that was refused."""
        return problem_response(rejected(refused), self.request_id)


SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Order:
    """A command on its way from a request to a run."""

    key: tuple[str, str]
    message: Command
    manner: Manner
    template: Template | None = None


def _manner(request: web.Request) -> Manner:
    return Manner(request_id_of(request), prefer(request, request.app[SERVICES].settings.wait_s))


def _created(request: web.Request) -> Manner:
    return replace(_manner(request), status=web.HTTPCreated.status_code)


def _at_once(request: web.Request) -> Manner:
    """Without asking for Prefer: a run that is cancelled rests at once."""
    return Manner(request_id_of(request), request.app[SERVICES].settings.wait_s)


def _finish(manner: Callable[[web.Request], Manner]) -> Finish:
    """Answers what was applied to a run before a restart and never answered."""

    async def finish(request: web.Request, receipt: Receipt, slip: IdempotencyKey) -> StoredResponse:
        run = await _current(request.app[SERVICES], (receipt.company_id, receipt.run_id or ""))
        if run is None:
            raise not_found()
        return await _answered(request.app, manner(request), run, slip)

    return finish


@idempotent(_finish(_created))
async def start(request: web.Request, raw: dict[str, Any], slip: IdempotencyKey | None) -> StoredResponse:
    """POST /process-runs/."""
    services, principal, body = request.app[SERVICES], principal_of(request), parse(StartRun, raw)
    await services.catalog.keep()
    entry = services.catalog.current(body.vertical)
    if entry is None:
        raise not_found("There is no template with this vertical.")
    errors = entry.input_errors(body.inputs)
    if errors:
        raise invalid(*errors)
    run_id = new_id()
    message = Start(
        run_id=run_id,
        company_id=principal.company_id,
        by=principal.email,
        via=principal.via,
        inputs=body.inputs,
        auto_resolve=body.auto_resolve,
        traceparent=traceparent(request),
        at=services.now(),
    )
    order = Order((principal.company_id, run_id), message, _created(request), entry.template)
    return await _execute(request.app, order, slip)


@idempotent(_finish(_manner))
async def resume(request: web.Request, raw: dict[str, Any], slip: IdempotencyKey | None) -> StoredResponse:
    """POST /process-runs/{run_id}/resume."""
    services, principal, key = request.app[SERVICES], principal_of(request), _key(request)
    body = parse(ResumeRun, raw)
    message = Resume(
        gate=body.gate,
        decision=body.decision,
        by=principal.email,
        via=principal.via,
        role=principal.role,
        comment=body.comment,
        digest=body.digest,
        output=body.output,
        inputs=body.inputs,
        tags=if_match(request),
        traceparent=traceparent(request),
        at=services.now(),
    )
    return await _execute(request.app, Order(key, message, _manner(request)), slip)


@idempotent(_finish(_at_once), optional=True)
async def cancel(request: web.Request, raw: dict[str, Any], slip: IdempotencyKey | None) -> StoredResponse:
    """POST /process-runs/{run_id}/cancel."""
    services, principal, key = request.app[SERVICES], principal_of(request), _key(request)
    body = parse(CancelRun, raw)
    message = Cancel(
        by=principal.email, via=principal.via, reason=body.reason, tags=if_match(request), at=services.now()
    )
    return await _execute(request.app, Order(key, message, _at_once(request)), slip)


@idempotent(_finish(_manner), optional=True)
async def retry(request: web.Request, raw: dict[str, Any], slip: IdempotencyKey | None) -> StoredResponse:
    """POST /process-runs/{run_id}/retry."""
    services, principal, key = request.app[SERVICES], principal_of(request), _key(request)
    parse(Empty, raw)
    message = Retry(by=principal.email, via=principal.via, tags=if_match(request), at=services.now())
    return await _execute(request.app, Order(key, message, _manner(request)), slip)


async def show(request: web.Request) -> web.Response:
    """GET /process-runs/{run_id}."""
    run = await find(request)
    stands, tag = await as_read(request.app[SERVICES], run)
    if has_already(request, etag(tag)):
        return web.Response(status=304, headers={"ETag": etag(tag)})
    body = request.app[RESPONSE_CACHE].body(run) if stands is run else dumps(render.run(stands))
    return run_response(run, body, 200, tag=tag).response()


async def index(request: web.Request) -> web.Response:
    """GET /process-runs/."""
    services, principal = request.app[SERVICES], principal_of(request)
    limit, status = page_limit(request), request.query.get("status")
    if status is not None and status not in STATUSES:
        raise invalid(("/status", f"has to be one of {', '.join(STATUSES)}"))
    view = request.query.get("view")
    if view not in (None, SUMMARY):
        raise invalid(("/view", f"has to be {SUMMARY}"))
    query = RunQuery(
        limit=limit + 1,
        before=from_cursor(request, "runs", ID),
        status=status,
        vertical=request.query.get("vertical"),
        parked_at=request.query.get("parked_at"),
    )
    found = [(await as_read(services, run))[0] for run in await services.store.find(principal.company_id, query)]
    return page_response(
        request, found, limit, "runs", name=lambda last: last.id, show=render.run if view is None else render.summary
    )


async def find(request: web.Request) -> Run:
    """The run that a path names, if it is the company's."""
    services, company_id = request.app[SERVICES], principal_of(request).company_id
    run = services.directory.live(company_id, request.match_info["run_id"])
    if run is None:
        run = await services.store.load(company_id, _run_id(request))
    if run is None:
        raise not_found()
    return run


def _run_id(request: web.Request) -> str:
    run_id = request.match_info["run_id"]
    if not ID.fullmatch(run_id):
        raise not_found()
    return run_id


def _key(request: web.Request) -> tuple[str, str]:
    """The company and the run that the path names."""
    return principal_of(request).company_id, _run_id(request)


async def _execute(app: web.Application, order: Order, slip: IdempotencyKey | None) -> StoredResponse:
    made: list[StoredResponse] = []

    def receipt(run: Run, refused: Rejected | None) -> Receipt:
        """Called anew when another process was faster: only what is decided last is answered."""
        assert slip is not None  # noqa: S101 - made only for requests with a key
        made.clear()
        if refused is not None:
            made.append(order.manner.refusal(refused))
        elif run.resting or order.manner.wait_s is None:
            made.append(order.manner.reply(run, dumps(render.run(run))))
        return slip.answered(made[0], run.id) if made else slip.open(run.id)

    maker = None if slip is None else receipt
    answer = await app[SERVICES].directory.ask(order.key, order.message, template=order.template, receipt=maker)
    if isinstance(answer, Rejected):
        if answer.code == "not_found":
            raise not_found()
        reply = order.manner.refusal(answer)
        if slip is not None:
            await app[IDEMPOTENCY].refuse(slip.answered(reply, order.key[1]))
        return reply
    if made:
        return made[0]
    if answer.rejected is not None:
        return order.manner.refusal(answer.rejected)
    return await _answered(app, order.manner, answer.run, slip)


async def _answered(app: web.Application, manner: Manner, run: Run, slip: IdempotencyKey | None) -> StoredResponse:
    if manner.wait_s is not None and not run.resting:
        run = await _rested(app[SERVICES], run, manner.wait_s)
    reply = manner.reply(run, app[RESPONSE_CACHE].body(run))
    if slip is not None:
        try:
            await app[IDEMPOTENCY].keep(slip.answered(reply, run.id))
        except StoreFailed as failed:  # the answer could not be kept, but what it answers has happened
            raise StoreFailed(str(failed), "unknown") from failed
    return reply


async def _rested(services: Services, run: Run, wait_s: float) -> Run:
    """The run once it rests, or as it is when the wait or the service ends."""
    key = (run.company_id, run.id)
    with slot_released(), services.feed.follow(*key) as follower:
        run = await _current(services, key) or run
        try:
            async with asyncio.timeout(wait_s):
                while not run.resting:
                    later, _ = await follower.next()
                    run = later if later is not None and later.version >= run.version else run
        except (TimeoutError, EOFError):
            return run
    return run


async def _current(services: Services, key: tuple[str, str]) -> Run | None:
    """The run as committed last: from its actor if that is live, else from the store, without waking it."""
    return services.directory.live(*key) or await services.store.load(*key)

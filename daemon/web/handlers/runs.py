"""Runs: start, read, decide, cancel, retry."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from actors.messages import Cancel, Command, Rejected, Resume, Retry, Start
from actors.ports import Receipt, StoreFailed
from actors.run import Run
from actors.template import Template
from actors.values import value
from daemon.jsonio import dumps
from daemon.ports import RunQuery
from daemon.uuids import new_id
from daemon.web import render
from daemon.web.admission import aside
from daemon.web.auth import principal_of, request_id_of
from daemon.web.bodies import has_already, idempotency_key, if_match, page_limit, prefer, read, traceparent
from daemon.web.idempotency import Once, Slip
from daemon.web.parameters import ID, STATUSES
from daemon.web.problems import etag, invalid, not_found, rejected
from daemon.web.rendered import RENDERED
from daemon.web.replies import Reply, from_cursor, page_reply, problem_reply, run_reply
from daemon.web.schemas import Cancellation, NewRun, Nothing, Verdict
from daemon.web.services import SERVICES, Services
from daemon.web.standing import as_read

ONCE = web.AppKey("once", Once)


@value
class Order:
    """A command on its way from a request to a run, and how its answer is to look."""

    key: tuple[str, str]
    message: Command
    request_id: str
    wait_s: float | None
    status: int = 200
    template: Template | None = None

    def reply(self, run: Run, body: bytes) -> Reply:
        """The answer: 202 while the run still executes, or when nobody waited for it."""
        status = 202 if self.wait_s is None or run.status == "executing" else self.status
        return run_reply(run, body, status, created=self.status == web.HTTPCreated.status_code)

    def refusal(self, refused: Rejected) -> Reply:
        """The answer to a command that was refused."""
        return problem_reply(rejected(refused), self.request_id)


async def start(request: web.Request) -> web.Response:
    """POST /process-runs/."""
    services, principal = request.app[SERVICES], principal_of(request)
    body, raw = await read(request, NewRun, body_s=services.settings.body_s)
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
    return await _give(request, _order(request, run_id, message, status=201, template=entry.template), raw)


async def resume(request: web.Request) -> web.Response:
    """POST /process-runs/{run_id}/resume."""
    services, principal = request.app[SERVICES], principal_of(request)
    run_id = _run_id(request)
    body, raw = await read(request, Verdict, body_s=services.settings.body_s)
    message = Resume(
        gate=body.gate,
        decision=body.decision,
        by=principal.email,
        via=principal.via,
        role=principal.role,
        comment=body.comment,
        digest=body.digest,
        output=body.output,
        tags=if_match(request),
        traceparent=traceparent(request),
        at=services.now(),
    )
    return await _give(request, _order(request, run_id, message), raw)


async def cancel(request: web.Request) -> web.Response:
    """POST /process-runs/{run_id}/cancel."""
    services, principal = request.app[SERVICES], principal_of(request)
    run_id = _run_id(request)
    body, raw = await read(request, Cancellation, body_s=services.settings.body_s, optional=True)
    message = Cancel(
        by=principal.email, via=principal.via, reason=body.reason, tags=if_match(request), at=services.now()
    )
    # Without asking for Prefer: a run that is cancelled rests at once.
    order = Order((principal.company_id, run_id), message, request_id_of(request), services.settings.wait_s)
    return await _give(request, order, raw)


async def retry(request: web.Request) -> web.Response:
    """POST /process-runs/{run_id}/retry."""
    services, principal = request.app[SERVICES], principal_of(request)
    run_id = _run_id(request)
    _, raw = await read(request, Nothing, body_s=services.settings.body_s, optional=True)
    message = Retry(by=principal.email, via=principal.via, tags=if_match(request), at=services.now())
    return await _give(request, _order(request, run_id, message), raw)


async def show(request: web.Request) -> web.Response:
    """GET /process-runs/{run_id}."""
    run = await find(request)
    stands, tag = await as_read(request.app[SERVICES], run)
    if has_already(request, etag(tag)):
        return web.Response(status=304, headers={"ETag": etag(tag)})
    body = request.app[RENDERED].body(run) if stands is run else dumps(render.run(stands))
    return run_reply(run, body, 200, tag=tag).response()


async def index(request: web.Request) -> web.Response:
    """GET /process-runs/."""
    services, principal = request.app[SERVICES], principal_of(request)
    limit, status = page_limit(request), request.query.get("status")
    if status is not None and status not in STATUSES:
        raise invalid(("/status", f"has to be one of {', '.join(STATUSES)}"))
    query = RunQuery(
        limit=limit + 1,
        before=from_cursor(request, "runs", ID),
        status=status,
        vertical=request.query.get("vertical"),
        parked_at=request.query.get("parked_at"),
    )
    found = [(await as_read(services, run))[0] for run in await services.store.find(principal.company_id, query)]
    return page_reply(request, found, limit, "runs", name=lambda last: last.id, show=render.run)


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


def _order(
    request: web.Request, run_id: str, message: Command, status: int = 200, template: Template | None = None
) -> Order:
    key = (principal_of(request).company_id, run_id)
    wait_s = prefer(request, request.app[SERVICES].settings.wait_s)
    return Order(key, message, request_id_of(request), wait_s, status, template)


async def _give(request: web.Request, order: Order, raw: Any) -> web.Response:
    """Have an order executed, once per Idempotency-Key, and answer it."""
    app, key = request.app, idempotency_key(request)
    if key is None:
        return (await _execute(app, order, None)).response()

    async def execute(slip: Slip) -> Reply:
        return await _execute(app, order, slip)

    async def finish(receipt: Receipt, slip: Slip) -> Reply:
        run = await _current(app[SERVICES], (order.key[0], receipt.run_id or ""))
        if run is None:
            raise not_found()
        return await _answered(app, order, run, slip)

    path = request.path.rstrip("/")
    return (await app[ONCE].answer((order.key[0], path, key), raw, execute, finish)).response()


async def _execute(app: web.Application, order: Order, slip: Slip | None) -> Reply:
    made: list[Reply] = []

    def receipt(run: Run, refused: Rejected | None) -> Receipt:
        """Called anew when another process was faster: only what is decided last is answered."""
        assert slip is not None  # noqa: S101 - made only for requests with a key
        made.clear()
        if refused is not None:
            made.append(order.refusal(refused))
        elif run.resting or order.wait_s is None:
            made.append(order.reply(run, dumps(render.run(run))))
        return slip.answered(made[0], run.id) if made else slip.open(run.id)

    maker = None if slip is None else receipt
    answer = await app[SERVICES].directory.ask(order.key, order.message, template=order.template, receipt=maker)
    if isinstance(answer, Rejected):
        if answer.code == "not_found":
            raise not_found()
        reply = order.refusal(answer)
        if slip is not None:
            await app[ONCE].refuse(slip.answered(reply, order.key[1]))
        return reply
    if made:
        return made[0]
    if answer.rejected is not None:
        return order.refusal(answer.rejected)
    return await _answered(app, order, answer.run, slip)


async def _answered(app: web.Application, order: Order, run: Run, slip: Slip | None) -> Reply:
    if order.wait_s is not None and not run.resting:
        run = await _rested(app[SERVICES], run, order.wait_s)
    reply = order.reply(run, app[RENDERED].body(run))
    if slip is not None:
        try:
            await app[ONCE].keep(slip.answered(reply, run.id))
        except StoreFailed as failed:  # the answer could not be kept, but what it answers has happened
            raise StoreFailed(str(failed), "unknown") from failed
    return reply


async def _rested(services: Services, run: Run, wait_s: float) -> Run:
    """The run once it rests, or as it is when the wait or the service ends."""
    key = (run.company_id, run.id)
    with aside(), services.feed.follow(*key) as follower:
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

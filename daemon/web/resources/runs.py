"""Runs: start, read, decide, cancel, retry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.typedefs import Handler

from actors.core.messages import Cancel, Command, Rejected, Resume, Retry, Start
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import Receipt, StoreFailed
from daemon.contract import runs as contract
from daemon.contract.base import Empty
from daemon.model import RunQuery
from daemon.runtime.ids import new_id
from daemon.runtime.json_codec import dumps
from daemon.web.bodies import has_already, if_match, page_limit, parse, prefer, traceparent
from daemon.web.idempotency import IDEMPOTENCY, IdempotencyKey, idempotent
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of
from daemon.web.middleware.request_id import request_id_of
from daemon.web.operations import KEYED, PAGED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import etag, invalid, not_found, problem_of
from daemon.web.resources.run_json import run_json, summary_json
from daemon.web.response_cache import RESPONSE_CACHE
from daemon.web.responses import StoredResponse, from_cursor, page_response, problem_response, run_response
from daemon.web.services import SERVICES, Services
from daemon.web.standing import as_read

SUMMARY = "summary"


@dataclass(slots=True)
class RunCommand:
    """A command, and the run that it is for."""

    run_key: tuple[str, str]
    message: Command
    template: Template | None = None


class Responder:
    """Makes the response to a command: how long its caller waits for the run to rest, and the status then."""

    def __init__(self, request: web.Request, wait_s: float | None) -> None:
        self.wait_s = wait_s
        self._request_id = request_id_of(request)
        self._created = "run_id" not in request.match_info

    def respond(self, run: Run, rejected: Rejected | None) -> StoredResponse | None:
        """The response to what was decided; None where the caller waits for the run to rest."""
        if rejected is not None:
            return self.refused(rejected)
        if self.wait_s is None or run.resting:
            return self.run(run, dumps(run_json(run)))
        return None

    def run(self, run: Run, body: bytes) -> StoredResponse:
        """The run: 202 while it still executes, or when nobody waited for it."""
        status = 202 if self.wait_s is None or run.status == "executing" else 201 if self._created else 200
        return run_response(run, body, status, created=self._created)

    def refused(self, rejected: Rejected) -> StoredResponse:
        return problem_response(problem_of(rejected), self._request_id)


Build: TypeAlias = Callable[[web.Request, dict[str, Any]], Awaitable[RunCommand]]
Wait: TypeAlias = Callable[[web.Request], float | None]


def _default_wait(request: web.Request) -> float:
    return request.app[SERVICES].settings.wait_s


def _preferred_wait(request: web.Request) -> float | None:
    return prefer(request, _default_wait(request))


async def _dispatch(
    build: Build, wait: Wait, request: web.Request, body: dict[str, Any], key: IdempotencyKey | None
) -> StoredResponse:
    """Have the run's actor decide on a command; the receipt is committed together with the decision."""
    command, responder = await build(request, body), Responder(request, wait(request))
    responses: list[StoredResponse | None] = []

    def receipt(run: Run, rejected: Rejected | None) -> Receipt:
        """Called again after a version conflict: the decision made last is the one that counts."""
        assert key is not None  # noqa: S101 - made only for requests with a key
        responses.append(responder.respond(run, rejected))
        return key.receipt(responses[-1], run.id)

    directory, maker = request.app[SERVICES].directory, None if key is None else receipt
    decided = await directory.ask(command.run_key, command.message, template=command.template, receipt=maker)
    if isinstance(decided, Rejected):  # nothing is committed
        refusal = responder.refused(decided)
        if key is not None and decided.code != "not_found":
            await request.app[IDEMPOTENCY].refuse(key.receipt(refusal, command.run_key[1]))
        return refusal
    response = responses[-1] if responses else responder.respond(decided.run, decided.rejected)
    return response or await _settle(request.app, responder, decided.run, key)


async def _finish(wait: Wait, request: web.Request, key: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    """Answer a command that was applied before a restart and never answered."""
    run = await _current(request.app[SERVICES], (receipt.company_id, receipt.run_id or ""))
    if run is None:
        raise not_found()
    return await _settle(request.app, Responder(request, wait(request)), run, key)


async def _settle(app: web.Application, responder: Responder, run: Run, key: IdempotencyKey | None) -> StoredResponse:
    """Wait for the run to rest, answer, and keep the answer."""
    if responder.wait_s is not None and not run.resting:
        run = await _rested(app[SERVICES], run, responder.wait_s)
    response = responder.run(run, app[RESPONSE_CACHE].body(run))
    if key is not None:
        try:
            await app[IDEMPOTENCY].keep(key.receipt(response, run.id))
        except StoreFailed as failed:  # the response could not be kept, but what it says has happened
            raise StoreFailed(str(failed), "unknown") from failed
    return response


def command(*, optional: bool = False, wait: Wait = _preferred_wait) -> Callable[[Build], Handler]:
    """Make a handler of a function that makes a command of a request; an `optional` body may be missing."""

    def around(build: Build) -> Handler:
        return wraps(build)(idempotent(partial(_finish, wait), optional=optional)(partial(_dispatch, build, wait)))

    return around


@Operation(
    "Start a run", contract.Run, 201, contract.StartRun, headers=(*KEYED, "Prefer", "traceparent"), problems=(404,)
)
@command()
async def start_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Starts a run, which goes on by itself until a human is needed. 202 while it still executes when the wait ends."""
    services, principal, body = request.app[SERVICES], principal_of(request), parse(contract.StartRun, raw)
    await services.catalog.keep()
    entry = services.catalog.current(body.vertical)
    if entry is None:
        raise not_found("There is no template with this vertical.")
    errors = entry.input_errors(body.inputs)
    if errors:
        raise invalid(*errors)
    message = Start(
        run_id=new_id(),
        company_id=principal.company_id,
        by=principal.email,
        via=principal.via,
        inputs=body.inputs,
        auto_resolve=body.auto_resolve,
        traceparent=traceparent(request),
        at=services.now(),
    )
    return RunCommand((message.company_id, message.run_id), message, entry.template)


@Operation(
    "Decide at a gate",
    contract.Run,
    request=contract.ResumeRun,
    headers=(*KEYED, "If-Match", "Prefer", "traceparent"),
    problems=(403, 409, 412),
)
@command()
async def resume_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Gives a verdict at an open gate, and the run goes on.

    A gate is decided once: of several verdicts the first counts, and the others are refused (409). A verdict that
    carries the `digest` of the gate is refused (412) when anything has changed since it was shown.
    """
    principal, run_key, body = principal_of(request), _run_key(request), parse(contract.ResumeRun, raw)
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
        at=request.app[SERVICES].now(),
    )
    return RunCommand(run_key, message)


@Operation("Cancel a run", contract.Run, request=contract.CancelRun, headers=(*KEYED, "If-Match"), problems=(409, 412))
@command(optional=True, wait=_default_wait)  # a run that is cancelled rests at once
async def cancel_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Ends a run where it stands."""
    principal, run_key, body = principal_of(request), _run_key(request), parse(contract.CancelRun, raw)
    at, tags = request.app[SERVICES].now(), if_match(request)
    return RunCommand(run_key, Cancel(by=principal.email, via=principal.via, reason=body.reason, tags=tags, at=at))


@Operation(
    "Retry a failed run", contract.Run, request=Empty, headers=(*KEYED, "If-Match", "Prefer"), problems=(409, 412)
)
@command(optional=True)
async def retry_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Goes on from the failed step."""
    principal, run_key, _ = principal_of(request), _run_key(request), parse(Empty, raw)
    at, tags = request.app[SERVICES].now(), if_match(request)
    return RunCommand(run_key, Retry(by=principal.email, via=principal.via, tags=tags, at=at))


@Operation("Get a run", contract.Run, headers=("If-None-Match",))
async def get_run(request: web.Request) -> web.Response:
    """A run with its open gates and everything that it did."""
    run = await find(request)
    stands, tag = await as_read(request.app[SERVICES], run)
    if has_already(request, etag(tag)):
        return web.Response(status=304, headers={"ETag": etag(tag)})
    body = request.app[RESPONSE_CACHE].body(run) if stands is run else dumps(run_json(stands))
    return run_response(run, body, 200, tag=tag).response()


@Operation(
    "List runs", list[contract.Run | contract.RunSummary], query=("status", "vertical", "parked_at", "view", *PAGED)
)
async def list_runs(request: web.Request) -> web.Response:
    """All runs of the company, newest first. `view=summary` leaves `inputs`, `facts` and `trace` out."""
    services, principal = request.app[SERVICES], principal_of(request)
    limit, status = page_limit(request), request.query.get("status")
    if status is not None and status not in contract.STATUSES:
        raise invalid(("/status", f"has to be one of {', '.join(contract.STATUSES)}"))
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
        request, found, limit, "runs", name=lambda last: last.id, show=run_json if view is None else summary_json
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


def _run_key(request: web.Request) -> tuple[str, str]:
    """The company and the run that the path names."""
    return principal_of(request).company_id, _run_id(request)


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

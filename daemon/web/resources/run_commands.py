"""The way of a command from its request to the run's actor and back to the response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, wraps
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from actors.core.decider import NO_SUCH_RUN
from actors.core.eligibility import as_bound, named_functions
from actors.core.messages import BreakGlass, Command, Migrate, Rejected, Resume, Start
from actors.core.reading.scope import may_read
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import Receipt, StoreFailed
from daemon.identity.tokens import NotAuthenticated, OutOfScope, Principal
from daemon.model.reading import Sight
from daemon.web.bodies import prefer
from daemon.web.idempotency import CREATED, IDEMPOTENCY, STARTS, IdempotencyKey, described, idempotent, repeated
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import PRINCIPAL, counts_still, permit_again, principal_of
from daemon.web.middleware.request_id import request_id_of
from daemon.web.problems import HttpProblem, existing, not_found, rejection_problem
from daemon.web.resources.run_json import RESPONSE_CACHE, run_body
from daemon.web.responses import StoredResponse, problem_response, run_response
from daemon.web.services import SERVICES, Services


@dataclass(slots=True)
class RunCommand:
    """A command, the run that it is for, and its response where that is not the run.

    A verdict of the id `verdict_id` may leave its gate open.
    """

    run_key: tuple[str, str]
    message: Command
    template: Template | None = None
    result: Callable[[Run], StoredResponse] | None = None
    verdict_id: str | None = None


Sees: TypeAlias = Callable[[Run], bool]


ACTIONS_PATH = "/actions"


class Responder:
    """Makes the response to a command, for a caller who waits at most `wait_s`.

    Its status and headers are those of the command; its body is the run as it rests.
    """

    sees: Sees | None = None
    """Whether the caller may read the run as it stands by then; None where everybody may."""
    path = "/process-runs/"
    rests: Callable[[Run], bool] = attrgetter("resting")
    """Whether the caller waits no longer."""
    cached = True
    """Whether all readers get the run as it is answered."""
    of_action = False
    """Whether it says no more than who asks for an action is told of it, reader or not."""

    def __init__(self, request: web.Request, wait_s: float | None, command: RunCommand | None = None) -> None:
        self._result = None if command is None else command.result
        self._verdict_id = None if command is None else command.verdict_id
        self.wait_s = wait_s
        self._request = request
        self._status, self._headers = 200, dict[str, str]()
        if command is not None and isinstance(command.message, Start):
            self._status, self._headers = 201, {"Location": self.path + command.run_key[1]}

    def respond(self, run: Run, rejected: Rejected | None) -> StoredResponse | None:
        """The response to what was decided; None where the caller waits for the run to rest."""
        if rejected is not None:
            return self.refused(rejected)
        if self._result is not None:
            return self._result(run)
        if self._quorum_open(run):
            self._status = ACCEPTED
        if self.wait_s is None or self.rests(run):
            return self.run(run)
        return None

    def shown(self, run: Run) -> Run:
        """The run with the functions of its gates as the company binds them."""
        if not named_functions(run):
            return run
        company = self._request.app[SERVICES].identity.companies.known(run.company_id)
        return run if company is None else as_bound(run, company)

    def run(self, run: Run, body: bytes | None = None) -> StoredResponse:
        """The run: 202 while it still executes, nobody waited for it, or the quorum was open."""
        later = self.wait_s is None or run.status == "executing"
        if self.sees is not None and not self.sees(run):
            run, body = withheld(run), None
        body = run_body(self.shown(run)) if body is None else body
        return run_response(run, body, ACCEPTED if later else self._status, headers=self._headers)

    def pending(self, key: IdempotencyKey, run_id: str) -> Receipt:
        """What is kept while the caller waits."""
        return key.pending_receipt(run_id, self._status, self._headers)

    def resume(self, receipt: Receipt) -> Responder:
        """Answer as the command did whose pending receipt this is."""
        self._status, self._headers = described(receipt)
        return self

    def _quorum_open(self, run: Run) -> bool:
        """Whether the verdict counts and its gate is still open."""
        if self._verdict_id is None:
            return False
        gates = (visit.gate for visit in run.parked if visit.gate is not None)
        return any(one.verdict_id == self._verdict_id for gate in gates for one in gate.verdicts)

    def refused(self, rejected: Rejected) -> StoredResponse:
        return problem_response(rejection_problem(rejected), request_id_of(self._request))


def withheld(run: Run) -> Run:
    """What the answer says of a run to who started it, or moved it on, and may not read it."""
    return Run(
        *(run.id, run.company_id, run.vertical, run.template_version, run.template_digest, {}, run.auto_resolve),
        *(run.created_by, run.created_at, run.created_at, run.created_by_kind),
    )


ACCEPTED, BAD_REQUEST = 202, 400
GLASS_PATH = "/break-glass"
"""Its answer says nothing of the run."""
NOT_KEPT = ("not_found", "quota_exceeded")
"""Refusals that a repeat under the same key may find otherwise."""
Build: TypeAlias = Callable[[web.Request, dict[str, Any]], Awaitable[RunCommand]]
Wait: TypeAlias = Callable[[web.Request], float | None]


class Answering(NamedTuple):
    """How long a request waits, and how it is answered."""

    wait: Wait
    responder: type[Responder] = Responder


def default_wait(request: web.Request) -> float:
    return request.app[SERVICES].settings.wait_s


def _preferred_wait(request: web.Request) -> float | None:
    return prefer(request, default_wait(request))


async def _dispatch(
    build: Build, answers: Answering, request: web.Request, body: dict[str, Any], key: IdempotencyKey | None
) -> StoredResponse:
    """Let the run's actor decide; the receipt is committed with the decision."""
    command = await build(request, body)
    responder = answers.responder(request, answers.wait(request), command)
    responses: list[StoredResponse | None] = []

    def receipt(run: Run, rejected: Rejected | None) -> Receipt:
        """Called again after a version conflict: the decision made last is the one that counts."""
        assert key is not None  # noqa: S101 - made only for requests with a key
        responses.append(response := responder.respond(run, rejected))
        return responder.pending(key, run.id) if response is None else key.receipt(response, run.id)

    directory, maker = request.app[SERVICES].directory, None if key is None else receipt
    decided = await directory.ask(
        command.run_key,
        command.message,
        template=command.template,
        receipt=maker,
        renew=partial(_renewed, request, command, responder),
    )
    if isinstance(decided, Rejected):  # nothing is committed
        refusal = responder.refused(decided)
        if key is not None and decided.code not in NOT_KEPT:
            await request.app[IDEMPOTENCY].refuse(key.receipt(refusal, command.run_key[1]))
        return refusal
    if responses:
        response = responses[-1]
    else:
        answer = partial(responder.respond, decided.run, decided.rejected)
        response = await request.app[SERVICES].offload.run_by_size(
            decided.run.company_id, decided.run.size_bytes, answer
        )
    if response is None:
        return await _settle(request, responder, decided.run, key)
    if command.result is None and responder.sees is None and responder.cached and response.status < BAD_REQUEST:
        request.app[RESPONSE_CACHE].keep(decided.run, response.body)
    return response


async def _renewed(
    request: web.Request, command: RunCommand, responder: Responder, run: Run | None, template: Template
) -> Command | Rejected | Exception:
    """The command with its sender's present role, or why the sender may not send it any more.

    A run that is closed to the sender is one that is not there, but for breaking its glass.
    """
    message, reading = command.message, request.app[SERVICES].reading
    try:
        await permit_again(request)
        scopes = request[PRINCIPAL].terms.scopes
        if scopes is not None and isinstance(message, Start):
            _check_scope(principal_of(request), message, template)
        if scopes is not None or isinstance(message, Migrate) or reading.may_close(command.run_key[0], template):
            sight = await sight_of(request)
            may = reading.may_break if isinstance(message, BreakGlass) else reading.may_read
            told = responder.of_action and (run is None or _asked_for(principal_of(request), run))
            if run is not None and not told and not await may(sight, run):
                return NO_SUCH_RUN
            if not told:
                responder.sees = None if sight is None else partial(_read_by, sight, command.template or template)
    except (HttpProblem, NotAuthenticated, OutOfScope) as refused:
        return refused
    if not isinstance(message, Resume):
        return message
    role = request[PRINCIPAL].role
    return message if role == message.role else msgspec.structs.replace(message, role=role)


def _asked_for(principal: Principal, run: Run) -> bool:
    return run.action is not None and run.action.agent_id in (principal.member_id, principal.user_id)


def _check_scope(principal: Principal, message: Start, template: Template) -> None:
    """OutOfScope where a key may not start this, or may not call the tool of an action."""
    if message.action is None:
        principal.check_start(template.vertical)
    else:
        principal.check_call(message.action.tool, message.action.server)


def _read_by(sight: Sight, template: Template, run: Run) -> bool:
    return may_read(sight.scope, run, template, sight.at)


async def _finish(answers: Answering, request: web.Request, key: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    """Answer a command that was applied before a restart and never answered."""
    run = existing(await current(request.app[SERVICES], (receipt.company_id, receipt.run_id or "")))
    return await _settle(request, answers.responder(request, answers.wait(request)).resume(receipt), run, key)


async def _settle(request: web.Request, responder: Responder, run: Run, key: IdempotencyKey | None) -> StoredResponse:
    """Wait for the run to rest, answer as the caller may see it by then, and keep the answer."""
    app = request.app
    try:
        if responder.wait_s is not None and not responder.rests(run):
            run = await _rested(app[SERVICES], run, responder)
            seen = await counts_still(request) and await _may_read(request, run)
            responder.sees = lambda _: seen
        response = responder.run(
            run, await app[RESPONSE_CACHE].body(responder.shown(run)) if responder.cached else None
        )
        if key is not None:
            response = await app[IDEMPOTENCY].keep(key.receipt(response, run.id)) or response
    except StoreFailed as failed:  # the run could not be read or the response kept, but the command was applied
        raise StoreFailed(str(failed), "unknown") from failed
    return response


async def decide(
    request: web.Request, build: Build, body: dict[str, Any], key: IdempotencyKey | None
) -> StoredResponse:
    """The response to one of several verdicts, as if it had come alone."""
    work = partial(_dispatch, build, Answering(default_wait), request, body, key)
    try:
        if key is None:
            return await work()
        finish = partial(_finish, Answering(default_wait))
        repeat = partial(repeated, finish, repeat_seen, request, key)
        return await request.app[IDEMPOTENCY].answer(key, work, repeat)
    except HttpProblem as problem:
        return problem_response(problem, request_id_of(request))


def command(
    *,
    optional: bool = False,
    wait: Wait = _preferred_wait,
    responder: type[Responder] = Responder,
    required: bool = False,
) -> Callable[[Build], Handler]:
    """Make a handler of a function that builds a command from a request, with a `required` key."""
    answers = Answering(wait, responder)

    def around(build: Build) -> Handler:
        answered = idempotent(partial(_finish, answers), optional=optional, seen=repeat_seen, required=required)
        return wraps(build)(answered(partial(_dispatch, build, answers)))

    return around


async def _rested(services: Services, run: Run, responder: Responder) -> Run:
    """The run once it rests, or as it is when the wait or the service ends."""
    key = (run.company_id, run.id)
    with slot_released(), services.feed.follow(*key) as subscription:
        run = await current(services, key) or run
        try:
            async with asyncio.timeout(responder.wait_s):
                while not responder.rests(run):
                    later, _ = await subscription.next()
                    run = later if later is not None and later.version >= run.version else run
        except (TimeoutError, EOFError):
            return run
    return run


async def current(services: Services, key: tuple[str, str]) -> Run | None:
    """The run as committed last, from its live actor or else from the store."""
    return services.directory.live(*key) or await services.store.load(*key)


async def sight_of(request: web.Request) -> Sight | None:
    """What the caller may read; None where everybody of the company reads everything."""
    return await request.app[SERVICES].reading.sight(principal_of(request))


async def readable(request: web.Request, key: tuple[str, str]) -> Run:
    """The run as committed last; 404 for one that is not there, or closed to the caller."""
    run = await current(request.app[SERVICES], key)
    if run is not None and await _may_read(request, run):
        return run
    raise not_found()


async def _may_read(request: web.Request, run: Run) -> bool:
    reading = request.app[SERVICES].reading
    return reading.is_surely_open(run, principal_of(request)) or await reading.may_read(await sight_of(request), run)


async def repeat_seen(request: web.Request, receipt: Receipt) -> StoredResponse | None:
    """What is answered to a repeat where the run is closed to the caller by now."""
    run_id, sight = receipt.run_id or request.match_info.get("run_id"), await sight_of(request)
    if run_id is None or sight is None or receipt.path.endswith(GLASS_PATH) or receipt.path == ACTIONS_PATH:
        return None
    run = await current(request.app[SERVICES], (receipt.company_id, run_id))
    if run is None or _asked_for(principal_of(request), run):
        return None
    if await request.app[SERVICES].reading.may_read(sight, run):
        return None
    if receipt.path != STARTS:
        raise not_found()
    run = withheld(run)
    headers = {"Location": f"/process-runs/{run.id}"}
    return run_response(run, run_body(run), receipt.status or CREATED, headers=headers).as_replay()

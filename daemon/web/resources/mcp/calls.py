"""Calls of tools of MCP servers: each is an action, and its result is given to the agent once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from actors.core.actions.deciding import Call, fingerprint
from actors.core.messages import Start
from actors.core.run import Run, Visit
from actors.core.template import Template, ToolEffect
from daemon.actions.deciding import Held
from daemon.actions.views import action_json
from daemon.connectors.mcp import EVENTS, SESSION, LiveCall, data_of, event_of
from daemon.connectors.servers import effect_of, tier_of
from daemon.model.actions import UNKNOWN, ActionJoin, action_outcome
from daemon.model.budgets import BudgetExceeded
from daemon.runtime.clock import new_id
from daemon.runtime.json_codec import NotJson, dumps, loads
from daemon.web.bodies import traceparent
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import principal_of
from daemon.web.problems import HttpProblem
from daemon.web.resources.mcp.messages import (
    INVALID_REQUEST,
    RESULT_TYPE,
    Asked,
    RpcRefused,
    Write,
    rpc_response,
    streamed,
    tool_error,
    tool_result,
    written,
)
from daemon.web.resources.mcp.tools import says_it_reads
from daemon.web.resources.run_commands import current
from daemon.web.services import SERVICES, Services
from daemon.web.sse import while_it_counts

CALL = "tools/call"
INVALID_PARAMS = -32602
BEAT_S = 5.0
BEAT = b": still here\n\n"
WAITS = "This call waits for a person, as action {id}. Make the same call again later to get its result."
BEGINS = "This call is about to begin. Make the same call again later to get its result."
UNDER_WAY = "This call is being made, as action {id}. Make the same call again later to get its result."
DOUBT = "Nobody knows whether this call happened: action {id} waits for a person to find out. Do not make it otherwise."
TAKEN = "The result of action {id} was given to the same call, made at the same time."
SHADOW = "Recorded and not sent: the server {server} is not live. It is action {id}; nothing was done."
DENIED = "Denied: {reason} (action {id})"
ENDED = "Not made: action {id} has ended as {outcome}."
LARGE = "The call was made, as action {id}. Its result was too large to keep, and is gone."
MADE = "A person says that this call was made. It is action {id}."
FAILED = "The call failed: {detail} (action {id})"
PROGRESS = "notifications/progress"
CANCELLED = "notifications/cancelled"
NAME_CHARS_MAX = 200
PAUSED = "paused: Actions are stopped: {reason}"


@dataclass(eq=False)
class Caller:
    """An agent who waits for an action; `progress` counts what it was told of the waiting."""

    asked: Asked
    run_id: str
    live: LiveCall
    claimed: bool
    fingerprint: str
    progress: int = 0
    gone: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """The run."""
        return self.asked.server.company_id, self.run_id

    @property
    def place(self) -> Place:
        """By what the agent would cancel the call."""
        return place_of(self.asked, self.asked.body["id"])

    @property
    def token(self) -> Any:
        """By what the agent wants to be told of progress."""
        meta = self.asked.body["params"].get("_meta")
        return meta.get("progressToken") if isinstance(meta, dict) else None

    @property
    def is_there(self) -> bool:
        """Whether there is somebody to give a result to."""
        transport = self.asked.request.transport
        return not self.gone and transport is not None and not transport.is_closing()


Place = tuple[str, str, str, str, str]
CALLERS = web.AppKey("mcp_callers", dict[Place, Caller])


def place_of(asked: Asked, request_id: Any) -> Place:
    """Where a request of an agent is: in its session with a server."""
    session = asked.headers.get(SESSION, "")
    return asked.server.company_id, asked.agent_id, asked.server.name, session, repr(request_id)


def cancelled(asked: Asked) -> bool:
    """Let an agent wait no longer; whether the server need not know, since it was not called."""
    params = asked.body.get("params")
    request_id = params.get("requestId") if isinstance(params, dict) else None
    found = asked.request.app[CALLERS].get(place_of(asked, request_id))
    if found is None:
        return False
    found.gone = True
    if not found.live.taken:
        found.live.push(None)
    return not found.live.taken


async def call_tool(asked: Asked) -> web.StreamResponse:
    """Decide about a call, or join the action that it is already, and answer what comes of it."""
    request, services = asked.request, asked.request.app[SERVICES]
    call = _call(asked)
    effect, headers = await _effect(asked, call)
    live = LiveCall(asked.body, asked.raw, headers)
    found = await _begun(asked, call, effect, live)
    if isinstance(found, web.Response):
        return found
    caller = Caller(asked, *found, fingerprint=fingerprint(call))
    services.dispatcher.live_calls.add(caller.key, live)
    request.app[CALLERS][caller.place] = caller
    try:
        with slot_released():
            async with while_it_counts(request):
                return await _answered(caller)
    except (ConnectionResetError, HttpProblem, TimeoutError):
        await _leave(caller)
        raise
    finally:
        services.dispatcher.live_calls.remove(caller.key, live)
        request.app[CALLERS].pop(caller.place, None)


async def _effect(asked: Asked, call: Call) -> tuple[ToolEffect | None, dict[str, str]]:
    """What is known of what a call does, and the headers with which it goes up."""
    known = effect_of(asked.server, call.tool)
    trusts = asked.server.trust_annotations and known is None
    reads, headers = await says_it_reads(asked, call, trusts=trusts)
    return known or ("read" if trusts and reads else None), headers


def _call(asked: Asked) -> Call:
    params, request_id = asked.body.get("params"), asked.body.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        raise RpcRefused(INVALID_REQUEST, "A call has an id.")
    name = params.get("name") if isinstance(params, dict) else None
    arguments = params.get("arguments", {}) if isinstance(params, dict) else None
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_CHARS_MAX or not isinstance(arguments, dict):
        message = f"A call has a name of at most {NAME_CHARS_MAX} characters, and arguments that are an object."
        raise RpcRefused(INVALID_PARAMS, message, request_id=request_id)
    return Call(
        tool=name,
        server=asked.server.name,
        arguments=arguments,
        agent=principal_of(asked.request).email,
        agent_id=asked.agent_id,
    )


Begun = tuple[str, LiveCall, bool]


async def _begun(asked: Asked, call: Call, effect: ToolEffect | None, live: LiveCall) -> Begun | web.Response:
    """The action of a call, and whether the same call joins it; an answer where there is none."""
    services, principal = asked.request.app[SERVICES], principal_of(asked.request)
    company_id, now, print_ = principal.company_id, services.now(), fingerprint(call)
    joined = await services.store.joined_action(company_id, call.agent_id, print_, now)
    if joined is not None:
        return joined, live, True
    run_id = new_id()
    decided = await services.deciding.decide(principal, call, run_id=run_id, way="mcp", effect=effect)
    if isinstance(decided, Held):
        return rpc_response(tool_error(asked, PAUSED.format(reason=decided.pause.reason)))
    found = decided.decision
    # What does something is not done again by the same call, though nobody hears of the first.
    claims = found.decision == "ask" or (found.decision == "allow" and (effect or found.rule.effect) != "read")
    if claims:
        join = ActionJoin(company_id, call.agent_id, print_, run_id, now)
        if (joined := await services.store.join_action(join)) is not None:
            return joined, live, True
    try:
        await services.stored.begin_run(company_id, run_id)
        trace = traceparent(asked.request)
        tier = tier_of(asked.server, call.tool)
        made = await services.making.start(principal, run_id, decided, effect=effect, tier=tier, traceparent=trace)
        await _started(services, *made, live)
    except BudgetExceeded as full:
        await services.deciding.give_back(company_id, run_id)
        return rpc_response(tool_error(asked, f"quota_exceeded: {full}"))
    return run_id, live, claims


async def _started(services: Services, message: Start, template: Template, live: LiveCall) -> None:
    """Start the run; its call may begin before that is answered."""
    key = (message.company_id, message.run_id)
    services.dispatcher.live_calls.add(key, live)
    try:
        await services.directory.ask(key, message, template=template)
    except BaseException:
        services.dispatcher.live_calls.remove(key, live)
        raise


async def _answered(caller: Caller) -> web.StreamResponse:
    """What came of the action; as a stream where there was something to say before that."""
    request = caller.asked.request
    if EVENTS not in request.headers.get("Accept", ""):
        return _whole(await _said(caller, await _settled(caller, _unheard)))
    response = web.StreamResponse(headers={"Content-Type": EVENTS, "Cache-Control": "no-store"})
    async with AsyncExitStack() as stack:

        async def write(part: bytes) -> None:
            if not response.prepared and (part or caller.gone):
                await stack.enter_async_context(streamed(request, response))
            await written(request, response, part)

        said = await _said(caller, await _settled(caller, write))
        if not response.prepared and not caller.gone:
            return _whole(said)
        await write(b"" if caller.gone else event_of(said))
    return response


def _whole(said: bytes) -> web.Response:
    return web.Response(body=said, content_type="application/json")


async def _unheard(_: bytes) -> None:
    """For an agent who is told of the end alone."""


@asynccontextmanager
async def _followed(services: Services, caller: Caller) -> AsyncIterator[None]:
    """Put each commit of the run among what the agent waits for."""
    inbox = caller.live.frames
    with services.feed.follow(*caller.key) as subscription:

        async def pump() -> None:
            try:
                while True:
                    run, _ = await subscription.next()
                    await inbox.put(run or b"")
            except EOFError:
                await inbox.put(None)

        pumping = asyncio.create_task(pump())
        try:
            yield
        finally:
            pumping.cancel()


async def _settled(caller: Caller, write: Write) -> Run | None:
    """The run once something has come of it, or as it is when the wait ends."""
    services, clock = caller.asked.request.app[SERVICES], asyncio.get_running_loop().time
    until, told_at = clock() + caller.asked.server.wait_s, 0.0
    async with _followed(services, caller):
        run = await current(services, caller.key)
        while run is None or not _is_settled(run):
            if not caller.live.taken:
                if clock() >= until or caller.gone:
                    return run
                if run is not None and run.status == "parked" and clock() >= told_at + BEAT_S:
                    await _tell(caller, write)
                    told_at = clock()
            item = await _next(caller, BEAT_S if caller.live.taken else min(BEAT_S, max(0.0, until - clock())))
            if item is None:
                return run
            if isinstance(item, bytes):
                await write(_shifted(caller, item))
            elif run is None or item.version >= run.version:
                run = item
        while not caller.live.frames.empty():
            item = caller.live.frames.get_nowait()
            await write(_shifted(caller, item) if isinstance(item, bytes) else b"")
    return run


async def _next(caller: Caller, within_s: float) -> Run | bytes | None:
    """What comes next of the run or the server; None at the end, a beat where nothing does."""
    try:
        async with asyncio.timeout(within_s):
            found: Run | bytes | None = await caller.live.frames.get()
            return found
    except TimeoutError:
        return BEAT


async def _tell(caller: Caller, write: Write) -> None:
    """Tell the agent that it goes on waiting."""
    if caller.token is None:
        await write(BEAT)
        return
    caller.progress += 1
    params = {
        "progressToken": caller.token,
        "progress": caller.progress,
        "message": f"Waiting for a person: action {caller.run_id}",
    }
    await write(event_of(dumps({"jsonrpc": "2.0", "method": PROGRESS, "params": params})))


def _shifted(caller: Caller, event: bytes) -> bytes:
    """A message of the server; its progress goes on from what was told before."""
    if not caller.progress or PROGRESS.encode() not in event:
        return event
    try:
        message = loads(data_of(event))
        params = message["params"]
        if message["method"] != PROGRESS or params["progressToken"] != caller.token:
            return event
        for name in ("progress", "total"):
            if params.get(name) is not None:
                params[name] += caller.progress
    except (NotJson, KeyError, TypeError):
        return event
    return event_of(dumps(message))


def _is_settled(run: Run) -> bool:
    return run.status in ("completed", "failed", "cancelled") or action_outcome(run) is not None


async def _said(caller: Caller, run: Run | None) -> bytes:
    """The message that answers the call; a result that is there is taken by it."""
    services, asked, run_id = caller.asked.request.app[SERVICES], caller.asked, caller.run_id
    if run is None:  # another request has claimed the call, and may have ended before it began
        return dumps(tool_error(asked, BEGINS))
    outcome = action_outcome(run)
    if not _is_settled(run) or outcome == UNKNOWN or not caller.is_there:
        await _leave(caller)
        if outcome == UNKNOWN:
            return dumps(tool_error(asked, DOUBT.format(id=run_id) + _failure(run)))
        return dumps(tool_error(asked, (WAITS if run.status == "parked" else UNDER_WAY).format(id=run_id)))
    if caller.claimed:
        company_id, at = asked.server.company_id, services.now()
        took = await services.store.take_action(company_id, asked.agent_id, caller.fingerprint, run_id=run_id, at=at)
        if not took:
            return dumps(tool_error(asked, TAKEN.format(id=run_id)))
    caller.claimed = True
    return _result(caller, run)


def _result(caller: Caller, run: Run) -> bytes:
    """What came of an action, in the words of the protocol."""
    asked, run_id = caller.asked, run.id
    visit = next((one for one in reversed((*run.trace, *run.open)) if one.calls), None)
    said = action_json(run, None)
    if said["outcome"] == "made" and visit is not None:
        if visit.request is not None and visit.request.mode != "live":
            return dumps(tool_error(asked, SHADOW.format(id=run_id, server=asked.server.name)))
        return caller.live.final or dumps(_kept(asked, visit, run_id))
    if said["outcome"] == "denied":
        return dumps(tool_error(asked, DENIED.format(id=run_id, reason=said["reason"] or "a person denied it")))
    if caller.live.final is not None:
        return caller.live.final
    if visit is not None and visit.error is not None:
        return dumps(tool_error(asked, FAILED.format(id=run_id, detail=visit.error.detail)))
    return dumps(tool_error(asked, ENDED.format(id=run_id, outcome=said["outcome"] or run.status)))


def _kept(asked: Asked, visit: Visit, run_id: str) -> dict[str, Any]:
    """The result as the run has it."""
    output = visit.output
    if isinstance(output, dict) and output.keys() == {"sha256", "size"}:
        return tool_error(asked, LARGE.format(id=run_id))
    if not isinstance(output, dict) or "content" not in output:
        return tool_result(asked, MADE.format(id=run_id))
    result = {name: one for name, one in output.items() if name != RESULT_TYPE}  # of another revision, perhaps
    if asked.modern:
        result[RESULT_TYPE] = output.get(RESULT_TYPE, "complete")
    return {"jsonrpc": "2.0", "id": asked.body["id"], "result": result}


def _failure(run: Run) -> str:
    """What the last call that failed said."""
    found = next((one.error.detail for one in reversed((*run.trace, *run.open)) if one.calls and one.error), None)
    return "" if found is None else f" {found}"


async def _leave(caller: Caller) -> None:
    """Let the same call have the result later, which nobody has taken."""
    company_id, run_id = caller.key
    store, now = caller.asked.request.app[SERVICES].store, caller.asked.request.app[SERVICES].now()
    await store.join_action(ActionJoin(company_id, caller.asked.agent_id, caller.fingerprint, run_id, now))

"""Decisions at gates: verdicts, taking them back, and proposals."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from actors.core.gate_policy import Batch
from actors.core.messages import AnswerQuestion, AskAgent, Propose, Resume, Withdraw
from actors.core.run import Run
from daemon.contract import runs as contract
from daemon.contract.agents.asked import GateQuestion
from daemon.contract.base import Empty
from daemon.contract.gates import AskQuestion, QuestionAnswer
from daemon.runtime.clock import new_id
from daemon.runtime.json_codec import dumps
from daemon.web.bodies import if_match, parse, path_key, traceparent
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.problems import existing
from daemon.web.resources.actions.actions import agent_id
from daemon.web.resources.run_commands import RunCommand, command, default_wait
from daemon.web.responses import JSON, StoredResponse
from daemon.web.services import SERVICES


@Operation(
    "Decide at a gate",
    "decide",
    contract.Run,
    request=contract.ResumeRun,
    headers=(*KEYED, "If-Match", "Prefer", "traceparent"),
    problems=(403, 409, 412),
)
@command()
async def resume_run(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Gives a verdict at an open gate, and the run goes on.

    A gate is decided once: of several verdicts the first counts, the others are refused (409). A
    verdict with the gate's `digest` is refused (412) if anything has changed since it was shown.
    Where the gate's policy asks for several people, 202 says that this verdict counts and that the
    quorum is still open. An approval of an action may bring its `arguments`, changed where the gate
    says so; the call that is made is the changed one, and the record has both.
    """
    body = await parse(request, contract.ResumeRun, raw)
    return resume_command(request, path_key(request, "run_id"), body, if_match(request))


def resume_command(
    request: web.Request,
    run_key: tuple[str, str],
    body: contract.ResumeRun,
    tags: frozenset[str] | None,
    batch: Batch | None = None,
) -> RunCommand:
    """The verdict of a body on the run that was seen with these entity tags."""
    principal = principal_of(request)
    message = Resume(
        gate=body.gate,
        decision=body.decision,
        by=principal.email,
        via=principal.via,
        by_kind=principal.kind,
        role=principal.role,
        comment=body.comment,
        digest=body.digest,
        output=body.output,
        inputs=body.inputs,
        form=body.form,
        code=body.code,
        arguments=body.arguments,
        on_behalf_of=body.on_behalf_of,
        verdict_id=new_id(),
        batch=batch,
        tags=tags,
        traceparent=traceparent(request),
        at=request.app[SERVICES].now(),
    )
    return RunCommand(run_key, message, verdict_id=message.verdict_id)


@Operation("Withdraw a verdict", "decide", contract.Run, problems=(403, 404, 409))
@command(optional=True, wait=default_wait)
async def withdraw_verdict(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Takes the caller's verdict back while the quorum of the gate is open."""
    principal, run_key = principal_of(request), path_key(request, "run_id")
    await parse(request, Empty, raw)
    message = Withdraw(
        gate=request.match_info["step_id"],
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        at=request.app[SERVICES].now(),
    )
    return RunCommand(run_key, message)


@Operation(
    "Propose a decision",
    "propose",
    contract.Proposal,
    201,
    contract.ProposeDecision,
    headers=KEYED,
    problems=(403, 404, 409, 412, 429),
)
@command(wait=default_wait)
async def propose_decision(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Says what the caller would decide at an open gate; a human still decides.

    The gate keeps its digest, and a verdict on what was seen before the proposal still counts. A
    newer proposal of the same proposer replaces the earlier one.
    """
    principal, run_key = principal_of(request), path_key(request, "run_id")
    body = await parse(request, contract.ProposeDecision, raw)
    message = Propose(
        gate=body.gate,
        decision=body.decision,
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        role=principal.role,
        comment=body.comment,
        confidence=body.confidence,
        form=body.form,
        digest=body.digest,
        at=request.app[SERVICES].now(),
    )
    return RunCommand(run_key, message, result=partial(_proposal, message))


def _proposal(message: Propose, run: Run) -> StoredResponse:
    visit = existing(run.at(message.gate))
    made = existing(visit.gate).proposals[-1]
    return StoredResponse(201, dumps(made), {"Content-Type": JSON})


@Operation(
    "Ask the agent of an action",
    "decide",
    GateQuestion,
    201,
    AskQuestion,
    headers=KEYED,
    problems=(403, 404, 409, 429),
)
@command(wait=default_wait)
async def ask_agent(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Asks the agent something before the caller decides about its action.

    The gate stays open. An agent that waits by the Agent Approval Protocol cannot be asked (409
    `not_for_aap`): deny with a comment that says what is missing.
    """
    principal, run_key = principal_of(request), path_key(request, "run_id")
    body = await parse(request, AskQuestion, raw)
    message = AskAgent(
        gate=request.match_info["step_id"],
        question=new_id(),
        text=body.text,
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        role=principal.role,
        at=request.app[SERVICES].now(),
    )
    return RunCommand(run_key, message, result=partial(_question, message, 201))


@Operation(
    "Answer a question at a gate",
    "act",
    GateQuestion,
    request=QuestionAnswer,
    headers=KEYED,
    problems=(403, 404, 409),
)
@command(wait=default_wait)
async def answer_question(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """The agent's answer, once; nobody but the key that asked for the action gives it.

    The gate shows it and has a new digest; verdicts that were given before count no more.
    """
    principal, run_key = principal_of(request), path_key(request, "run_id")
    body = await parse(request, QuestionAnswer, raw)
    message = AnswerQuestion(
        gate=request.match_info["step_id"],
        question=request.match_info["question_id"],
        text=body.text,
        agent_id=agent_id(principal),
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        at=request.app[SERVICES].now(),
    )
    return RunCommand(run_key, message, result=partial(_question, message, 200))


def _question(message: AskAgent | AnswerQuestion, status: int, run: Run) -> StoredResponse:
    asked = existing(existing(run.at(message.gate)).gate).questions
    one = next(each for each in asked if each.id == message.question)
    return StoredResponse(status, dumps(GateQuestion.view(one)), {"Content-Type": JSON})

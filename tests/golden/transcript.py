"""A scenario is read, played to the core, and written down again with everything that the core
answered.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from actors.core.actions.deciding import ActionFacts, RuleReference
from actors.core.autonomy import Breakpoint, Record
from actors.core.calls import CallRequest
from actors.core.messages import (
    AnswerQuestion,
    AskAgent,
    CallConsumed,
    CallEffect,
    CallGranted,
    CallSettled,
    ClockEvent,
    ClockExtended,
    ClockPaused,
    ClockResumed,
    ClockStarted,
    ClockStopped,
    CompensationBegan,
    Consume,
    Effect,
    Event,
    GateAnswered,
    GateAsked,
    GateBlocked,
    GateEscalated,
    GateExpired,
    GateOpened,
    GateReminded,
    GateRescheduled,
    GlassBroken,
    GlassMended,
    JudgeAnswered,
    MessageReceived,
    PanelAsked,
    PanelDecided,
    ProposalMade,
    Rejected,
    ReportOutcome,
    RunEnded,
    RunMigrated,
    RunPromoted,
    RunStarted,
    Start,
    StepCleared,
    StepEntered,
    VerdictGiven,
    VerdictWithdrawn,
    WaitBegan,
    WaitEnded,
)
from actors.core.messages.votes import Vote
from actors.core.people import ActiveDelegation, Person
from actors.core.schedule import duration
from actors.core.template import Node, Template
from tests.conversations import DOWN, MORNING, Conversation
from tests.golden.processes import PROCESSES, SHIPPED
from tests.processes import connector


def transcript(scenario: str) -> str:
    """The scenario with the answers of today."""
    lines: list[str] = []
    talk: Conversation | None = None
    for line in scenario.splitlines():
        kind, _, rest = line.partition(" ")
        match kind:
            case "#":
                lines += [line] if lines and lines[-1].startswith("#") else ["", line]
            case "process":
                talk = Conversation((PROCESSES | SHIPPED)[rest])
                lines += ["", line, *(drawn(talk.template) if line not in lines else [])]
            case "*" if talk is not None:
                bind(talk, rest)
                lines += [line] if lines[-1].startswith("*") else ["", line]
            case "@" if talk is not None:
                employ(talk, rest)
                lines += [line] if lines[-1].startswith("@") else ["", line]
            case ">" if talk is not None:
                lines += ["", line, *answered(talk, rest)]
            case _:
                assert line == "" or line.startswith("  "), f"cannot read: {line}"
    return "\n".join(lines).strip() + "\n"


# ---------------------------------------------------------------------------------------- reading


def words(text: str) -> tuple[list[str], dict[str, Any]]:
    """The words of a line, those with `=` apart: their values are JSON, or else text."""
    plain: list[str] = []
    named: dict[str, Any] = {}
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if equals:
            named[name] = parsed(value)
        else:
            plain.append(word)
    return plain, named


def parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def bind(talk: Conversation, text: str) -> None:
    (_, tool), how = words(text)
    known = talk.connectors.get(tool)
    talk.connectors[tool] = connector(tool, 1 if known is None else known.version + 1, **how)


def employ(talk: Conversation, text: str) -> None:
    """A member of the company, as `ann role=owner groups=finance,board`; `solo` or a delegation."""
    (name, *rest), how = words(text)
    company = talk.company
    if name == "solo":
        talk.company = replace(company, solo=True)
    elif name == "delegation":
        giver, to = rest
        given = ActiveDelegation(giver, to, MORNING, MORNING + timedelta(days=30))
        talk.company = replace(company, delegations=(*company.delegations, given))
    elif name == "holiday":
        holidays = company.calendar.holidays | {date.fromisoformat(rest[0])}
        talk.company = replace(company, calendar=replace(company.calendar, holidays=holidays))
    elif name == "known":
        at = Breakpoint(0.0, how["lower"], how["lower"])
        talk.records = {**talk.records, rest[0]: Record(how["cases"], how["agreed"], 1.0, (at,))}
    elif name == "left":
        people = {one: person for one, person in company.people.items() if one != rest[0]}
        talk.company = replace(company, people=people)
    else:
        groups = frozenset(filter(None, str(how.get("groups", "")).split(",")))
        person = Person(name, name, str(how["role"]), groups)
        talk.company = replace(company, people={**company.people, name: person}, solo=False)


def answered(talk: Conversation, text: str) -> Iterator[str]:
    """Say it to the run; the events that followed, a refusal, how the run stands and what it
    wants.
    """
    done = said(talk, text)
    if isinstance(done, Rejected):
        yield f"    refused: {done.code}. {done.detail}"
        return
    yield from (f"    {event.type:<13} {written(event)}" for event in done.events)
    if done.rejected is not None:
        yield f"    refused: {done.rejected.code}. {done.rejected.detail}"
    if not done.events:
        yield "    nothing new"
    yield f"  = {stands(talk)}"
    yield from (f"  ! {wanted(effect)}" for effect in done.effects)


def said(talk: Conversation, text: str) -> Any:
    (verb, *plain), named = words(text)
    return SAYINGS[verb](talk, plain, named)


def start(talk: Conversation, _: list[str], named: dict[str, Any]) -> Any:
    auto = named.pop("auto_resolve", True)
    return talk.start(named, auto=auto).last


def act(talk: Conversation, plain: list[str], named: dict[str, Any]) -> Any:
    """Start a run that is an action, which a rule decides like that; `timeout` is for how long."""
    about: dict[str, Any] = {name: named.pop(name) for name in ("reason", "way") if name in named}
    waits = named.pop("timeout", None)
    if waits is not None:
        about["deadline_at"] = talk.at + duration(waits).exact
    known: Any = {
        "decision": plain[0],
        "rule": RuleReference("unruled", 0, ""),
        "agent": "helper",
        "agent_id": "bob",
        "fingerprint": "",
    }
    facts = ActionFacts(**known, tool=talk.template.nodes[0].label, **about)
    who: Any = {"run_id": "run", "company_id": "acme", "by": "helper", "by_kind": "agent"}
    return talk.say(Start(**who, inputs=named, action=facts, at=talk.at))


def ask(talk: Conversation, plain: list[str], _: dict[str, Any]) -> Any:
    gate, question, asked = plain
    said: Any = {"gate": gate, "question": question, "text": asked, "by": "bob", "role": "manager"}
    return talk.say(AskAgent(**said, at=talk.at))


def answer(talk: Conversation, plain: list[str], _: dict[str, Any]) -> Any:
    gate, question, told = plain
    said: Any = {"gate": gate, "question": question, "text": told, "by": "helper", "agent_id": "bob"}
    return talk.say(AnswerQuestion(**said, at=talk.at))


def report(talk: Conversation, plain: list[str], _: dict[str, Any]) -> Any:
    status, *note = plain
    said: Any = {"status": status, "note": note[0] if note else None}
    return talk.say(ReportOutcome(**said, by="helper", at=talk.at))


def resume(talk: Conversation, plain: list[str], named: dict[str, Any]) -> Any:
    opened = [event for event in talk.history if isinstance(event, GateOpened) and event.step_id == plain[0]]
    seen = named.pop("seen", None)
    return talk.resume(*plain, digest=None if seen is None else opened[seen - 1].digest, **named)


def settled(verb: str, talk: Conversation, plain: list[str], named: dict[str, Any]) -> Any:
    step_id, _, visit = plain[0].partition(":")
    if verb == "returned":
        signal = named.pop("signal", None)
        return talk.returned(step_id, int(visit), named, signal)
    return talk.failed(step_id, int(visit), unknown=verb == "lost")


SAYINGS: dict[str, Callable[[Conversation, list[str], dict[str, Any]], Any]] = {
    "start": start,
    "act": act,
    "consume": lambda talk, plain, _: talk.say(Consume(key_hash=plain[0], by="helper", at=talk.at)),
    "report": report,
    "ask": ask,
    "answer": answer,
    "resume": resume,
    "propose": lambda talk, plain, named: talk.propose(*plain, **named),
    "withdraw": lambda talk, plain, named: talk.withdraw(*plain, **named),
    "message": lambda talk, plain, named: talk.deliver(plain[0], named or None),
    "due": lambda talk, plain, _: talk.due(duration(plain[0]).exact if plain else timedelta()),
    "review": lambda talk, _plain, _named: talk.review(talk.company),
    "returned": partial(settled, "returned"),
    "failed": partial(settled, "failed"),
    "lost": partial(settled, "lost"),
    "elapsed": lambda talk, plain, _: talk.elapsed(plain[0].partition(":")[0], int(plain[0].partition(":")[2])),
    "judge": lambda talk, plain, named: talk.judge(plain[0], named or DOWN),
    "migrate": lambda talk, plain, _: talk.migrate(PROCESSES[plain[0]]),
    "promote": lambda talk, plain, _: talk.promote(plain[0]),
    "break-glass": lambda talk, plain, _: talk.break_glass(plain[0]),
    "retry": lambda talk, _plain, _named: talk.retry(),
    "cancel": lambda talk, _, named: talk.cancel(named.get("reason"), compensate=bool(named.get("compensate"))),
}
"""What may be said to a run."""


# ---------------------------------------------------------------------------------------- writing


def drawn(template: Template) -> Iterator[str]:
    """The process: a line for each step, with the ways that lead on."""
    width = max(len(node.id) for node in template.nodes)
    for node in template.nodes:
        ways = (
            (f"{edge.branch}: " if edge.branch else "")
            + (f"if {edge.when.text} " if edge.when else "")
            + f"-> {edge.target}"
            for edge in template.leaving(node.id)
        )
        yield f"    {node.id:<{width}}  {about(node):<30}{', '.join(ways)}".rstrip()


def about(node: Node) -> str:
    match node.kind:
        case "task":
            return f"task, {node.tier}, {node.effect}"
        case "gate":
            who = f"gate for a {node.role}" if node.role else "gate"
            return f"{who}, {node.policy.quorum} people" if node.policy.quorum > 1 else who
        case "gateway":
            return f"{node.flow} gateway" + (", human" if node.gate else "")
        case "wait":
            wait = node.wait
            asked = None if wait is None else wait.duration or wait.message or (wait.until and wait.until.text)
            return f"wait, {asked}"
        case _:
            return node.kind if node.outcome is None else f"{node.kind}, {node.outcome}"


def written(event: Event) -> str:
    """What an event says, in one line."""
    match event:
        case RunStarted():
            waits = "" if event.auto_resolve else ", every step waits for a human"
            return f"by {event.by} with {text(event.inputs)}{waits}"
        case RunEnded():
            return ", ".join(filter(None, [event.status, event.outcome, event.by and f"by {event.by}", event.reason]))
        case MessageReceived():
            return f"{event.name} by {event.by} {text(event.payload)}"
        case RunMigrated() | RunPromoted() | GlassBroken() | GlassMended():
            return of_admins(event)
        case CompensationBegan():
            return f"before the run is {event.status}"
        case ClockEvent():
            return f"{event.clock} {counted(event)}".rstrip()
        case _:
            return f"{event.step_id}:{event.visit} {detail(event)}".rstrip()


def of_admins(event: RunMigrated | RunPromoted | GlassBroken | GlassMended) -> str:
    match event:
        case RunMigrated():
            return f"from version {event.from_version} to {event.template_version} by {event.by}"
        case RunPromoted():
            return f"to {event.promoted_to} by {event.by}"
        case GlassBroken():
            return f"by {event.by}: {event.reason}"
        case GlassMended():
            return f"of {event.reader}"


def detail(event: Any) -> str:
    match event:
        case StepEntered():
            came = f"from {event.source}" if event.source else ""
            return f"{came}, waits for the other branches" if event.waiting else came
        case StepCleared():
            over = f", over: {event.branch}" if event.branch else ""
            return f"by {event.by}: {event.reason}{over}{sent(event.request)}"
        case CallSettled():
            hit = " and that is a hit" if event.signal is True else ""
            return f"failed: {event.error.detail}" if event.error else f"answered {text(event.output)}{hit}"
        case GateOpened():
            return f"{event.reason}; {' or '.join(event.decisions)}?{sent(event.request)}"
        case ProposalMade():
            return f"{event.decision} proposed by {event.by}"
        case VerdictGiven():
            left = ", the quorum is open" if event.open is True else ""
            return f"{event.decision} by {event.by}{left}" + (f': "{event.comment}"' if event.comment else "")
        case PanelAsked() | JudgeAnswered() | PanelDecided():
            return judged(event)
        case _:
            return later(event)


def judged(event: PanelAsked | JudgeAnswered | PanelDecided) -> str:
    """What is said of a panel."""
    match event:
        case PanelAsked():
            asked = "".join(f", asks {one.judge}{sent(one.request)}" for one in event.calls)
            return f"{', '.join(map(vote, event.votes))}{asked}".removeprefix(", ")
        case JudgeAnswered():
            return vote(event.vote)
        case PanelDecided():
            sure = "" if event.confidence is UNSET else f", confidence {event.confidence}"
            return f"{event.clear} clear it, {event.quorum} needed{sure}"


def vote(one: Vote) -> str:
    sure = "" if one.confidence is None else f" {one.confidence}"
    return f"{one.judge}: {one.verdict}{sure}" + (f" ({one.reason})" if one.reason else "")


def later(event: Any) -> str:
    """What is said of an open gate and of a wait."""
    match event:
        case VerdictWithdrawn():
            return f"that of {event.giver} by {event.by}"
        case GateReminded():
            return f"{len(event.left)} reminders left"
        case GateEscalated():
            return f"to {event.to}"
        case GateRescheduled():
            return f"to {event.due_at:%F %T}" if isinstance(event.due_at, datetime) else ""
        case GateExpired():
            return f"{event.decision} by the deadline"
        case GateBlocked():
            return f"{event.needed} needed, {event.eligible} eligible"
        case _:
            return waited(event)


def waited(event: Any) -> str:
    """What is said of a wait."""
    match event:
        case WaitBegan():
            until = None if event.until is None else f"until {event.until:%F %T}"
            return f"for {', '.join(filter(None, [event.message, until]))}"
        case WaitEnded():
            return f"{event.how} {text(event.payload) if event.payload is not None else ''}".rstrip()
        case _:
            return handed(event)


def handed(event: Any) -> str:
    """What is said of a call that the agent makes itself."""
    match event:
        case CallGranted():
            return f"until {event.expires_at:%F %T}"
        case GateAsked():
            return f"by {event.by}: {event.text}"
        case GateAnswered():
            return f"by {event.by}: {event.text}"
        case CallConsumed():
            return f"by {event.by}, which tells its outcome until {event.until:%F %T}"
        case _:
            return ""


def counted(event: ClockEvent) -> str:
    """What is said of a clock."""
    at = getattr(event, "due_at", UNSET)
    due = f", due {at:%F %T}" if isinstance(at, datetime) else ""
    match event:
        case ClockStarted():
            return f"from {event.started_at:%F %T}{due}"
        case ClockPaused():
            return f"during {event.during}"
        case ClockResumed():
            return f"stood still for {event.paused_s:g} s{due}"
        case ClockExtended():
            return f"by {event.extended_by}, since {event.once_done} is done{due}"
        case ClockStopped():
            how = event.reason if event.stopped_by is UNSET else f"by {event.stopped_by}"
            return f"{how}{due}"
        case _:
            return due.removeprefix(", ")


def sent(request: CallRequest | None) -> str:
    if request is None:
        return ""
    where = f" {request.method} {request.url}" if request.url else ""
    return f" [{request.mode}{where}]"


def stands(talk: Conversation) -> str:
    run = talk.run
    where = f" at {', '.join(talk.parked)}" if run.status == "parked" else ""
    why = f": {run.error.detail}" if run.error else ""
    return f"{run.status}{where}{why} (version {run.version})"


def wanted(effect: Effect) -> str:
    if isinstance(effect, CallEffect):
        again = "may be repeated" if effect.repeatable else "never twice"
        return f"call {effect.key}: {effect.request.method} {effect.request.url}, {again}"
    return f"wake {effect.key}"


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

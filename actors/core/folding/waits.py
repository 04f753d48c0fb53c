"""What the events of waits, messages, compensation and panels make of a run."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from actors.core.canonical import json_size
from actors.core.folding.gates import Changes, closing, open_visit, sent, staying
from actors.core.messages import (
    CallConsumed,
    CallGranted,
    CompensationBegan,
    JudgeAnswered,
    MessageReceived,
    PanelAsked,
    PanelDecided,
    WaitBegan,
    WaitEnded,
    kind_of,
)
from actors.core.messages.votes import PanelSession, carried
from actors.core.run import CallGrant, Run, Visit, VisitStatus, Waiting


def wait_began(run: Run, event: WaitBegan) -> Changes:
    """The visit waits; nothing has to be done until then."""
    visit = open_visit(run, event)
    since = event.at if visit.wait is None else visit.wait.since
    return staying(
        run,
        replace(visit, status="waiting", wait=Waiting(since, event.until, event.message, event.business_days is True)),
    )


def wait_ended(run: Run, event: WaitEnded) -> Changes:
    """The visit is over; the message that it took is kept no more."""
    visit = open_visit(run, event)
    message = None if visit.wait is None else visit.wait.message
    output = {"ended_by": event.how}
    changes: Changes = {}
    if event.how == "message":
        output["payload"] = event.payload
        taken = next((one for one in run.messages if one.name == message), None)
        changes["messages"] = tuple([one for one in run.messages if one is not taken])
        if taken is not None:
            visit = replace(visit, resolved_by=taken.by, resolved_by_kind=kind_of(taken))
        changes["carried"] = run.carried + 2 * json_size(event.payload)
    over = replace(visit, status="done", ended_at=event.at, output=output)
    return {**changes, **closing(run, over), "facts": {**run.facts, event.step_id: output}}


def message_received(run: Run, event: MessageReceived) -> Changes:
    """A message is kept until a step takes it."""
    carried = run.carried + 2 * json_size(event.payload)
    return {"messages": (*run.messages, event), "carried": carried, "proposed": run.proposed + 1}


def compensation_began(run: Run, event: CompensationBegan) -> Changes:
    """Every visit is cancelled but those whose call is out."""
    calling = tuple([one for one in run.open if one.call_out])
    over = [one for one in run.open if not one.call_out]
    reached = event.status == "completed"
    left = [
        one
        if one.status == "failed"
        else replace(one, status="done" if reached and one.kind == "end" else "cancelled", ended_at=event.at)
        for one in over
    ]
    return {"compensating": event, "open": calling, "trace": (*run.trace, *left), "signals": ()}


def panel_asked(run: Run, event: PanelAsked) -> Changes:
    """The visit waits for the judges that are called."""
    visit = open_visit(run, event)
    hearing = PanelSession(event.digest, event.quorum, event.votes, event.calls)
    grown = sent(event.request) + sum([sent(one.request) for one in event.calls]) + carried(event.votes)
    return {**staying(run, _heard(visit, hearing)), "carried": run.carried + grown}


def judge_answered(run: Run, event: JudgeAnswered) -> Changes:
    """The vote takes the place of the call."""
    visit = open_visit(run, event)
    hearing = _panel(visit)
    calls = tuple([one for one in hearing.calls if one.judge != event.vote.judge])
    now = replace(hearing, votes=(*hearing.votes, event.vote), calls=calls)
    return {**staying(run, _heard(visit, now)), "carried": run.carried + carried((event.vote,))}


def panel_decided(run: Run, event: PanelDecided) -> Changes:
    """The panel keeps what its decision was weighed on."""
    visit = open_visit(run, event)
    weighed = None if event.weighed is UNSET else event.weighed
    return staying(run, replace(visit, panel=replace(_panel(visit), weighed=weighed)))


def _heard(visit: Visit, hearing: PanelSession) -> Visit:
    status: VisitStatus = "judging" if hearing.calls else "ready"
    return replace(visit, status=status, panel=hearing)


def _panel(visit: Visit) -> PanelSession:
    assert visit.panel is not None  # noqa: S101 - it was asked
    return visit.panel


def granted(run: Run, event: CallGranted) -> Changes:
    """The visit waits for the agent to use its approval up."""
    visit, until = open_visit(run, event), event.expires_at
    wait = Waiting(event.at, until)
    return staying(run, replace(visit, status="waiting", wait=wait, grant=CallGrant(event.at, until)))


def consumed(run: Run, event: CallConsumed) -> Changes:
    """The approval is used up, and the visit waits for the outcome."""
    visit = open_visit(run, event)
    assert visit.grant is not None  # noqa: S101 - it was granted
    used = replace(visit.grant, consumed_at=event.at, consumed_by=event.by, key_hash=event.key_hash)
    return staying(run, replace(visit, wait=Waiting(event.at, event.until), grant=used))

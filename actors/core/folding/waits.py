"""What the events of waits, messages and compensation make of a run."""

from __future__ import annotations

from msgspec.structs import replace

from actors.core.canonical import json_size
from actors.core.folding.visits import Changes, closing, open_visit, staying
from actors.core.messages import CompensationBegan, MessageReceived, WaitBegan, WaitEnded, kind_of
from actors.core.run import Run, Waiting


def began(run: Run, event: WaitBegan) -> Changes:
    """The visit waits; nothing has to be done until then."""
    visit = open_visit(run, event)
    since = event.at if visit.wait is None else visit.wait.since
    return staying(
        run,
        replace(visit, status="waiting", wait=Waiting(since, event.until, event.message, event.business_days is True)),
    )


def ended(run: Run, event: WaitEnded) -> Changes:
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


def received(run: Run, event: MessageReceived) -> Changes:
    """A message is kept until a step takes it."""
    carried = run.carried + 2 * json_size(event.payload)
    return {"messages": (*run.messages, event), "carried": carried, "proposed": run.proposed + 1}


def compensating(run: Run, event: CompensationBegan) -> Changes:
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

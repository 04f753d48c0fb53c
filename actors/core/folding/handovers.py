"""What the events of a call make of it that the agent makes itself."""

from __future__ import annotations

from msgspec.structs import replace

from actors.core.folding.gates import Changes, open_visit, staying
from actors.core.messages import CallConsumed, CallGranted
from actors.core.run import CallGrant, Run, Waiting


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

"""What the events of panels make of a run."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from actors.core.folding.visits import Changes, open_visit, sent, staying
from actors.core.messages import JudgeAnswered, PanelAsked, PanelDecided
from actors.core.messages.votes import PanelSession, carried
from actors.core.run import Run, Visit, VisitStatus


def asked(run: Run, event: PanelAsked) -> Changes:
    """The visit waits for the judges that are called."""
    visit = open_visit(run, event)
    hearing = PanelSession(event.digest, event.quorum, event.votes, event.calls)
    grown = sent(event.request) + sum([sent(one.request) for one in event.calls]) + carried(event.votes)
    return {**staying(run, _heard(visit, hearing)), "carried": run.carried + grown}


def answered(run: Run, event: JudgeAnswered) -> Changes:
    """The vote takes the place of the call."""
    visit = open_visit(run, event)
    hearing = _panel(visit)
    calls = tuple([one for one in hearing.calls if one.judge != event.vote.judge])
    now = replace(hearing, votes=(*hearing.votes, event.vote), calls=calls)
    return {**staying(run, _heard(visit, now)), "carried": run.carried + carried((event.vote,))}


def decided(run: Run, event: PanelDecided) -> Changes:
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

"""Checks of what reached the ledger against the verdicts in the history of the run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.crash.answers import stamp
from tests.crash.records import Case, Line
from tests.crash.world import GUARDED, LIVE

COUNTED = frozenset({"effect twice", "effect without verdict"})
Allowed = dict[int, str]


def irreversible_effects(case: Case) -> int:
    """How many effects the run had that cannot be undone."""
    return sum(line["effect"] for line in case.calls if (case.vertical, _step(line)) in GUARDED)


def effects_allowed(case: Case) -> Iterator[str]:
    """Each irreversible call has a verdict of its own before it, and takes effect once."""
    calls: defaultdict[str, list[Line]] = defaultdict(list)
    for line in case.calls:
        calls[_step(line)].append(line)
    for step_id, made in calls.items():
        if (case.vertical, step_id) in GUARDED:
            yield from _allowed(case, step_id, made)


def _allowed(case: Case, step_id: str, calls: list[Line]) -> Iterator[str]:
    allowed, keyed = allowance(case, step_id), GUARDED[case.vertical, step_id].keyed
    effects = Counter(line["key"] for line in calls if line["effect"])
    sent = Counter(line["key"] for line in calls)
    for key, times in effects.items():
        if times > 1:
            yield f"effect twice: {key}"
    for key, times in sent.items():
        if times > 1 and not keyed and effects[key] < 2:
            yield f"sent twice: {key} may not be repeated, and was sent {times} times"
    earlier = False
    for line in calls:
        at = allowed.get(_visit(line))
        if at is None or stamp(at) > line["at"]:
            kind = "twice" if earlier and line["effect"] else "without verdict"
            yield f"effect {kind}: nobody has allowed {line['key']} before it was sent"
        earlier = earlier or line["effect"]


def allowance(case: Case, step_id: str) -> Allowed:
    """The visits of an irreversible step that a human has allowed, and when: each takes a verdict
    of its own.
    """
    guard = GUARDED[case.vertical, step_id]
    allowed: Allowed = {}
    verdict: str | None = None
    for event in case.events:
        if event["type"] == "verdict_given":
            fits = (event["step_id"], event["decision"]) == (guard.gate, guard.decision)
            if fits and guard.gate == step_id:
                allowed[event["visit"]] = event["at"]
            elif fits:
                verdict = event["at"]
        elif event["type"] == "step_entered" and event["step_id"] == step_id and guard.gate != step_id:
            if event["by"] is not None:
                allowed[event["visit"]] = event["at"]
            elif verdict is not None:
                allowed[event["visit"]], verdict = verdict, None
        elif event["type"] == "step_cleared" and event["step_id"] == step_id and event["by"] != "autopilot":
            allowed[event["visit"]] = event["at"]
    return allowed


def calls_known(case: Case) -> Iterator[str]:
    """Every call belongs to a visit of the run, a repeated one was the same, and shadowed tools are
    quiet.
    """
    entered = {(e["step_id"], e["visit"]) for e in case.events if e["type"] == "step_entered"}
    bodies: defaultdict[str, set[str]] = defaultdict(set)
    effects = Counter(line["key"] for line in case.calls if line["effect"])
    for line in case.calls:
        bodies[line["key"]].add(line["sha256"])
        if (_step(line), _visit(line)) not in entered:
            yield f"call unknown: the history has no visit {line['key']}"
        if line["tool"] not in LIVE:
            yield f"shadow broken: {line['tool']} was called"
    yield from (f"call changed: {key} was sent with two bodies" for key, sent in bodies.items() if len(sent) > 1)
    for key, times in effects.items():
        if times > 1 and (case.vertical, key.split(":")[1]) not in GUARDED:
            yield f"effect repeated: {key} took effect {times} times under one key"


def outcomes_known(case: Case) -> Iterator[str]:
    """A call that the history says was answered was made."""
    made = {line["key"] for line in case.calls}
    for event in case.events:
        if event["type"] == "call_settled" and event["error"] is None and "receipt" in (event["output"] or {}):
            key = f"{case.run_id}:{event['step_id']}:{event['visit']}"
            if event["output"]["receipt"] != key or key not in made:
                yield f"outcome invented: the ledger has not answered {key}"


def _step(line: Line) -> str:
    return str(line["key"].split(":")[1])


def _visit(line: Line) -> int:
    return int(line["key"].split(":")[2])


CHECKS = (effects_allowed, calls_known, outcomes_known)

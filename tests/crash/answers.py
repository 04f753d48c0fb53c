"""Checks of what was answered against the history of the run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime

from tests.crash.folding import Fold
from tests.crash.records import Case, Line, Said


def whole(case: Case) -> Iterator[str]:
    """The history has no gap, and what is shown of the run is what the history leads to."""
    if [event["seq"] for event in case.events] != list(range(1, len(case.events) + 1)):
        yield "history broken: its numbers are not 1, 2, 3, …"
    fold, told = Fold(), _told(case)
    for event in case.events:
        try:
            fold.apply(event)
        except (KeyError, StopIteration):
            yield f"history broken: {event['type']} at {event['seq']} cannot follow"
            return
        for line in told.pop(fold.version, []):
            if {**fold.seen(), "id": case.run_id} != line["run"]:
                yield f"state lost: #{line['n']} was answered what the history does not say at {fold.version}"
    for version in told:
        yield f"state lost: version {version} was answered, the history ends at {fold.version}"
    if fold.seen() != case.seen:
        yield "state not folded: what is shown of the run is not what its history leads to"


def _told(case: Case) -> defaultdict[int, list[Line]]:
    """The answers that showed the run, by the version that they showed."""
    told: defaultdict[int, list[Line]] = defaultdict(list)
    for one in case.said.values():
        for line in one.answers:
            if "run" in line:
                told[line["run"]["version"]].append(line)
    return told


def verdicts_kept(case: Case) -> Iterator[str]:
    """Every verdict that was acknowledged is in the history as it was given, and none that was
    refused.
    """
    given: defaultdict[str, list[Line]] = defaultdict(list)
    for event in case.verdicts:
        given[event["comment"]].append(event)
    for one in case.said.values():
        if one.do == "resume" and one.asked is not None:
            yield from _kept(one, one.asked, given.pop(f"#{one.n}", []))
    for comment in given:
        yield f"verdict invented: nobody has asked {comment}"


def _kept(one: Said, asked: Line, found: list[Line]) -> Iterator[str]:
    answer = one.acknowledged
    if len(found) > 1:
        yield f"verdict twice: #{one.n} is in the history {len(found)} times"
    if answer is not None and not found:
        yield f"verdict lost: #{one.n} was acknowledged and is not in the history"
    if one.refused and found:
        yield f"verdict refused: #{one.n} was refused and is in the history"
    for event in found:
        if (event["step_id"], event["decision"]) != (asked["body"]["gate"], asked["body"]["decision"]):
            yield f"verdict changed: #{one.n} is not in the history as it was given"
        if answer is not None and answer["given"] != [[event["step_id"], event["visit"]]]:
            yield f"verdict changed: #{one.n} closed another visit than was answered"
        if stamp(event["at"]) < asked["at"]:
            yield f"verdict changed: #{one.n} is in the history before it was asked"


def closed_once(case: Case) -> Iterator[str]:
    """A visit has one verdict, and one caller was told to have given it."""
    closed = Counter((event["step_id"], event["visit"]) for event in case.verdicts)
    yield from (f"gate closed twice: {step}:{visit}" for (step, visit), times in closed.items() if times > 1)
    told: Counter[tuple[str, int]] = Counter()
    for one in case.said.values():
        if one.do == "resume" and one.acknowledged is not None:
            told.update((step, visit) for step, visit in one.acknowledged["given"])
    yield from (f"two acknowledged: {step}:{visit}" for (step, visit), times in told.items() if times > 1)


def decided_fits(case: Case) -> Iterator[str]:
    """Whoever came second was told the verdict that the history has."""
    facts = {(event["step_id"], event["visit"]): event for event in case.verdicts}
    for one in case.said.values():
        for line in one.answers:
            decided = line.get("decided")
            if decided is None:
                continue
            event = facts.get((decided["gate"], decided["visit"]))
            if event is None or any(event[name] != decided[name] for name in ("decision", "by", "at")):
                yield f"verdict changed: #{one.n} was told another verdict than the history has"


def commands_kept(case: Case) -> Iterator[str]:
    """A cancel that was acknowledged has ended the run, and none that was refused."""
    reason = next((event["reason"] for event in case.events if event["type"] == "run_ended"), None)
    for one in case.said.values():
        if one.do == "cancel" and one.acknowledged and reason != f"#{one.n}":
            yield f"cancel lost: #{one.n} was acknowledged and did not end the run"
        if one.do == "cancel" and one.refused and reason == f"#{one.n}":
            yield f"cancel refused: #{one.n} was refused and ended the run"


def keys_stable(case: Case) -> Iterator[str]:
    """An Idempotency-Key was answered in one way."""
    for one in case.said.values():
        answers = {(line["status"], line["sha256"]) for line in one.answers if line["status"] != 503}
        if one.keyed and len(answers) > 1:
            yield f"key answered in two ways: #{one.n}"


def reads_fresh(case: Case) -> Iterator[str]:
    """A read that was asked after an answer shows no earlier state; a client reads when nothing
    else is under way.
    """
    shown = [line for one in case.said.values() for line in one.answers if "run" in line]
    latest = 0
    for line in sorted(shown, key=lambda line: float(line["at"])):
        if line["do"] == "read" and line["run"]["version"] < latest:
            yield f"stale read: #{line['n']} shows version {line['run']['version']} after {latest}"
        latest = max(latest, line["run"]["version"])


def moving(case: Case) -> Iterator[str]:
    """At the end, when nothing is pending any more, no run executes."""
    if case.seen["status"] == "executing":
        yield "run stuck: it executes and nothing is pending"


def stamp(at: str) -> float:
    """A time of the contract in seconds."""
    return datetime.fromisoformat(at).timestamp()


CHECKS = (whole, verdicts_kept, closed_once, decided_fits, commands_kept, keys_stable, reads_fresh, moving)
